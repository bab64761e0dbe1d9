import type { FetchAnswer, PartialResponse } from '@postern/core'
import { partialResponseSchema, Unavailable } from '@postern/core'
import { parseBoundedJson, parseRetryAfter } from '@postern/http'
import { z } from 'zod'

/** Answers that time may heal, besides every 5xx (RFC 9110 §15, RFC 8470 §5.2, RFC 6585 §4). */
const passingStatuses: ReadonlySet<number> = new Set([408, 425, 429])

/** A NormalizedResponse, or only its parts, only a text, or only acts; members that the gateway decides are ignored. */
const replySchema = partialResponseSchema.extend({ text: z.string().optional() }).superRefine((reply, context) => {
  const { text, parts, status, acts } = reply
  if (text !== undefined && parts) context.addIssue({ code: 'custom', message: 'has both "text" and "parts"' })
  if (text === undefined && !parts && !status && !acts?.length) {
    context.addIssue({ code: 'custom', message: 'has neither "text" nor "parts"; answer 204 to say nothing' })
  }
})

/**
 * What a webhook answered: undefined for "say nothing".
 * @throws Unavailable for 5xx, 408, 425 and 429, with their Retry-After
 * @throws Error for everything else: the turn has failed
 */
export function readWebhookReply(answer: FetchAnswer, now: number): PartialResponse | undefined {
  const { status, headers, body } = answer
  if (status >= 500 || passingStatuses.has(status)) {
    const retryAfter = parseRetryAfter(headers.get('retry-after'), now)
    throw new Unavailable(`The webhook answered ${status}`, retryAfter === undefined ? {} : { retryAfter })
  }
  if (status === 204) return undefined
  if (status !== 200) throw new Error(`The webhook answered ${status}; expected 200 or 204`)
  return toPartialResponse(parseBoundedJson(body, { what: 'webhook reply' }))
}

function toPartialResponse(value: unknown): PartialResponse {
  const parsed = replySchema.safeParse(value)
  if (!parsed.success) throw new Error(`Cannot read webhook reply: ${describeIssues(parsed.error)}`)
  const { text, ...response } = parsed.data
  return text === undefined
    ? response
    : { ...response, parts: [{ kind: 'text', mime: 'text/markdown', content: text }] }
}

/** Where and what, never the value itself. */
function describeIssues({ issues }: z.ZodError): string {
  const described = issues.slice(0, 3).map(({ path, message }) => `${path.join('.') || 'it'} ${message}`)
  return described.join('; ')
}
