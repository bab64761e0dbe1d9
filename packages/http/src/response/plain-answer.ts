// Describes an answer without the objects of the Fetch standard, and converts it for Hono.
import type { StreamedBody } from './streamed-body.ts'
import { answerWithBody } from './streamed-body.ts'

/** An answer with its whole body, or with one that is written piece by piece. The status of the latter is 200. */
export interface PlainAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | StreamedBody | null
}

/** Converts an answer for Hono. `env` holds the server's own objects for the request. */
export function toResponse({ status, headers, body }: PlainAnswer, env?: unknown): Response {
  return typeof body === 'function' ? answerWithBody(env, body, headers) : new Response(body, { status, headers })
}
