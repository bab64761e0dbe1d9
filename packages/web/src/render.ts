import type { AnsweredTurn, Delivery, Json, NormalizedResponse } from '@postern/core'
import { parseJsonText } from '@postern/core'

/** Whoever runs it reads it: committed means sent. */
export function addressRun({ turn }: AnsweredTurn) {
  return {
    deliveries: [{ to: `run:${runOf(turn.target)}`, target: turn.target, pulled: true }],
    aliases: [],
  }
}

/** The response as it is: streams and the history write it as AG-UI when it is read. */
export function renderResponse({ response }: Delivery): NormalizedResponse | null {
  return response ?? null
}

export function describeResponse(response: NormalizedResponse | null): Json {
  return parseJsonText(JSON.stringify(response)) as Json
}

function runOf(target: unknown): string {
  return String((target as { readonly run?: unknown } | null)?.run ?? '')
}
