# add-sub on FastAPI, as people write it: fastapi_server.py PORT.
import sys

import numpy as np
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel


class Vectors(BaseModel):
    a: list[float]
    b: list[float]


app = FastAPI()


@app.get("/health")
def health() -> str:
    return "ok"


@app.post("/predict")
async def predict(vectors: Vectors) -> dict[str, list[float]]:
    a, b = np.asarray(vectors.a, np.float32), np.asarray(vectors.b, np.float32)
    return {"add": (a + b).tolist(), "sub": (a - b).tolist()}


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
