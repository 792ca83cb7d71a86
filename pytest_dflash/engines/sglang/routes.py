"""Routes of SGLang that serve or tell something.

Law: a table. Its key guards every path but those that begin with /health, /ready or /metrics, and its guard comes before
the look at the method: a GET of a route that takes POST only tells whether it is guarded (401) or not (405), and
runs nothing. Not here: /health, for which it generates a token; /flush_cache, /start_profile and their like, which act on
GET; and the routes of --admin-api-key, which are known by their method too.
Source: srt/utils/auth.py and srt/entrypoints/http_server.py, 0.5.23.
"""

from __future__ import annotations

from pytest_dflash.engines.dialect import Route

ROUTES = (
    Route("/v1/chat/completions", "generates text"),
    Route("/v1/completions", "generates text"),
    Route("/generate", "generates text"),
    Route("/api/generate", "generates text"),  # Ollama's protocol
    Route("/invocations", "generates text"),
    Route("/vertex_generate", "generates text"),
    Route("/tokenize", "tokenizes"),
    Route("/server_info", "tells the whole configuration", serves=False),
    Route("/model_info", "tells the model", serves=False),
    Route("/v1/loads", "tells the number of requests", serves=False),
    Route("/metrics", "tells counters", serves=False),
    Route("/openapi.json", "tells all routes", serves=False),
)
