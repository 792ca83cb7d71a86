"""Routes of llama.cpp's server.

Law: a table. Its key guards every path but /health, /v1/health and its page, unknown ones too; the guard comes before the
look at the method, so a GET of a route that takes POST only runs nothing (seen on builds of October 2026).
"""

from __future__ import annotations

from pytest_dflash.engines.dialect import Route

ROUTES = (
    Route("/v1/chat/completions", "generates text"),
    Route("/v1/completions", "generates text"),
    Route("/v1/messages", "generates text"),
    Route("/v1/responses", "generates text"),
    Route("/completion", "generates text"),
    Route("/infill", "generates text"),
    Route("/tokenize", "tokenizes"),
    Route("/detokenize", "tokenizes"),
    Route("/apply-template", "tells prompts as the model gets them"),
    Route("/v1/embeddings", "runs the model on texts"),
    Route("/rerank", "runs the model on texts"),
    Route("/slots", "tells what others ask", serves=False),
    Route("/props", "tells settings", serves=False),
    Route("/metrics", "tells counters", serves=False),
    Route("/lora-adapters", "tells adapters", serves=False),
)
