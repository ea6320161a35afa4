"""Let OpenTelemetry's SDK trace twelve answers and their evaluations, and write them as OTLP JSON.

Needs opentelemetry-sdk and opentelemetry-exporter-otlp-json-file.
"""

from pathlib import Path

from opentelemetry.exporter.otlp.json.file.trace_exporter import FileSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

HERE = Path(__file__).parent
FILE = HERE / "spans.jsonl"
FILE.unlink(missing_ok=True)
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(FileSpanExporter(FILE)))
tracer = provider.get_tracer("answers")
scores = [float(bool(number % 3)) for number in range(12)]
for number, score in enumerate(scores):
    with tracer.start_as_current_span("invoke_agent") as span:
        span.set_attribute("dataset.item", f"q{number}")
        span.set_attribute("gen_ai.usage.output_tokens", 3)
        for name, value in (("correctness", score), ("brevity", 0.5)):
            result = {
                "gen_ai.evaluation.name": name,
                "gen_ai.evaluation.score.value": value,
            }
            span.add_event("gen_ai.evaluation.result", result)
provider.shutdown()
print(sum(scores) / len(scores))
