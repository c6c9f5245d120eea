"""Serve the scores of a released model over HTTP, with aiohttp.

    python examples/serve/serve.py ratings-run --port 8080
    curl -d '[{"user": "u7", "movie": "m5", "year": 1965, "genres": "Drama", "time": null}]' \\
        http://127.0.0.1:8080/score

POST /score takes a JSON list of examples and answers {"scores": [...]}; what cannot be scored is
answered with status 400 and the reason. GET /card says what is claimed of the model. Needs lazydp,
NumPy and aiohttp, no torch.
"""

import argparse
import json

from aiohttp import web

import lazydp

MOST_BYTES = 1 << 20  # of a request


def application(model: lazydp.ServedModel) -> web.Application:
    async def score(request: web.Request) -> web.Response:
        try:
            examples = json.loads(await request.read())
            if not isinstance(examples, list):
                raise lazydp.UserError("a request is a list of examples")
            scores = model.score(examples)
        except ValueError as error:  # UserError is one, and so is what json raises
            return web.json_response({"error": str(error)}, status=400)
        return web.json_response({"scores": scores.tolist()})

    async def card(_: web.Request) -> web.Response:
        return web.json_response(model.card)

    app = web.Application(client_max_size=MOST_BYTES)
    app.add_routes([web.post("/score", score), web.get("/card", card)])
    return app


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="folder of a released model, or of its run")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8080)
    options = parser.parse_args()
    app = application(lazydp.load(options.model))
    web.run_app(app, host=options.host, port=options.port, access_log=None)


if __name__ == "__main__":
    main()
