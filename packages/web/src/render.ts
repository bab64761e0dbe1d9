import type { AnsweredTurn, Delivery, Json, NormalizedResponse } from '@postern/core'
import { parseJsonText } from '@postern/core'
import type { FileAddress } from './parts/write-block.ts'
import { listFiles, writeBlocks } from './parts/write-block.ts'

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

/** The message of AG-UI that a client shows for it. */
export function showChatAnswer({ id, parts }: NormalizedResponse, fileAddress: FileAddress): Json {
  const files = listFiles(parts, fileAddress)
  const message = {
    id,
    role: 'assistant',
    content: writeBlocks(parts, fileAddress),
    ...(files.length > 0 && { files }),
  }
  return parseJsonText(JSON.stringify(message)) as Json
}

function runOf(target: unknown): string {
  return String((target as { readonly run?: unknown } | null)?.run ?? '')
}
