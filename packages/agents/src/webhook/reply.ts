import type { FetchAnswer, PartialResponse } from '@postern/core'
import { partialResponseSchema } from '@postern/core'
import { parseBoundedJson } from '@postern/http'
import { z } from 'zod'
import { checkPassingStatus } from '../kind/passing-status.ts'

const textShape = {
  /** One text part in Markdown, instead of `parts`. */
  text: z.string().optional(),
}

/** A NormalizedResponse, or only its parts, only a text, or only acts, notes or usage; members that the gateway decides are ignored. */
export const replySchema = partialResponseSchema.extend(textShape).superRefine((reply, context) => {
  const { text, parts, status, acts, notes, usage } = reply
  if (text !== undefined && parts) context.addIssue({ code: 'custom', message: 'has both "text" and "parts"' })
  const isDone = [acts, notes, usage].some(list => list !== undefined && list.length > 0)
  if (text === undefined && !parts && !status && !isDone) {
    context.addIssue({ code: 'custom', message: 'has neither "text" nor "parts"; answer 204 to say nothing' })
  }
})

/**
 * What a webhook answered: undefined for "say nothing".
 * @throws Unavailable for 5xx, 408, 425 and 429, with their Retry-After
 * @throws Error for everything else: the turn has failed
 */
export function readWebhookReply(answer: FetchAnswer, now: number): PartialResponse | undefined {
  const reply = readWebhookAnswer(answer, now)
  return reply === undefined ? undefined : toPartialResponse(reply)
}

/** The JSON of an answer, whatever it is; undefined for "say nothing". @throws as `readWebhookReply` */
export function readWebhookAnswer(answer: FetchAnswer, now: number): unknown {
  const { status, body } = answer
  checkPassingStatus('webhook', answer, now)
  if (status === 204) return undefined
  if (status !== 200) throw new Error(`The webhook answered ${status}; expected 200 or 204`)
  return parseBoundedJson(body, { what: 'webhook reply' })
}

function toPartialResponse(value: unknown): PartialResponse {
  const parsed = replySchema.safeParse(value)
  if (!parsed.success) throw new Error(`Cannot read webhook reply: ${describeIssues(parsed.error)}`)
  const { text, ...response } = parsed.data
  return text === undefined
    ? response
    : { ...response, parts: [{ kind: 'text', mime: 'text/markdown', content: text }] }
}

/** The place and the fault, never the value itself. */
function describeIssues({ issues }: z.ZodError): string {
  const described = issues.slice(0, 3).map(({ path, message }) => `${path.join('.') || 'it'} ${message}`)
  return described.join('; ')
}
