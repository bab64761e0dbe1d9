import type { AnsweredTurn, Delivery, Json, NormalizedResponse } from '@postern/core'
import { parseJsonText } from '@postern/core'

/** The client reads the answer from the store, so a committed answer is delivered. */
export function addressRun({ turn }: AnsweredTurn) {
  return {
    deliveries: [{ to: `run:${runOf(turn.target)}`, target: turn.target, pulled: true }],
    aliases: [],
  }
}

/** The unchanged response. Streams and the history write it as AG-UI when a client reads it. */
export function renderResponse({ response }: Delivery): NormalizedResponse | null {
  return response ?? null
}

export function describeResponse(response: NormalizedResponse | null): Json {
  return parseJsonText(JSON.stringify(response)) as Json
}

function runOf(target: unknown): string {
  return String((target as { readonly run?: unknown } | null)?.run ?? '')
}
