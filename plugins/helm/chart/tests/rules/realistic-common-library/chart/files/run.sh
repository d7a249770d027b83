#!/bin/bash
exec {{ .Chart.Name }} --port "$PORT"
