"""Routes of vLLM that serve, move or tell something.

Law: a table. Its key guards by the beginning of a path: `/v1` only in 0.8.5, `/v1`, `/v2`, `/inference` and `/cohere`
in 0.32.0; whatever begins otherwise answers anybody. The guard comes before the look at the method, so a GET of a
route that takes POST only tells whether it is guarded (401) or not (405), and runs nothing.
Not here: /server_info of the development routes, for which the server runs commands on its host.
Source: entrypoints/serve/middleware/authenticate.py and the routers beside it, 0.32.0; entrypoints/openai/api_server.py,
0.8.5.
"""

from __future__ import annotations

from pytest_dflash.engines.dialect import Route

ROUTES = (
    Route("/v1/chat/completions", "generates text"),
    Route("/v1/completions", "generates text"),
    Route("/invocations", "generates text"),
    Route("/inference/v1/generate", "generates text"),
    Route("/generative_scoring", "scores texts with the model"),
    Route("/tokenize", "tokenizes"),
    Route("/detokenize", "tokenizes"),
    Route("/pooling", "runs the model on texts"),
    Route("/classify", "runs the model on texts"),
    Route("/score", "runs the model on texts"),
    Route("/rerank", "runs the model on texts"),
    Route("/start_profile", "records a profile on the host's disk"),  # --profiler-config only
    Route("/scale_elastic_ep", "changes the number of replicas"),
    # With VLLM_SERVER_DEV_MODE=1 only, which no production host should have.
    Route("/sleep", "puts the model to sleep"),
    Route("/wake_up", "wakes the model"),
    Route("/reset_prefix_cache", "empties the prefix cache"),
    Route("/collective_rpc", "calls any method of the workers"),
    Route("/pause", "stops all generation"),
    Route("/update_weights", "replaces the weights"),
    Route("/is_sleeping", "tells whether the model sleeps", serves=False),
    Route("/metrics", "tells counters", serves=False),
    Route("/load", "tells the number of requests", serves=False),
    Route("/version", "tells the version", serves=False),
    Route("/openapi.json", "tells all routes", serves=False),
)
