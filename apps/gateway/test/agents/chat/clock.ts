// Answers with tool calls before, between and after its text. All calls have the same id.
import { once } from 'node:events'
import type { NormalizedMessage, ToolCallPart } from '@postern/message'
import { plainTextOf, Unavailable } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'

const startedCall: ToolCallPart = { kind: 'tool_call', id: 'c1', name: 'clock', args: {} }
const endedCall: ToolCallPart = { ...startedCall, result: { hour: 12 } }
const textPart = (content: string) => ({ kind: 'text', mime: 'text/markdown', content }) as const

const attempts = new Map<string, number>()

export function handle({ id, parts }: NormalizedMessage, { requireConsent, signal }: AgentContext) {
  const word = plainTextOf(parts)
  const consent = () => requireConsent({ message: 'May I?', title: 'Set the clock' }).parts ?? []
  const attempt = (attempts.get(id) ?? 0) + 1
  attempts.set(id, attempt)
  if (word === 'whole') return { parts: [textPart('Looking.'), endedCall, textPart('It is noon.')] }
  return streamWords(word, { attempt, consent, signal })
}

interface StreamOptions {
  readonly attempt: number
  readonly consent: () => readonly object[]
  readonly signal: AbortSignal
}

async function* streamWords(word: string, { attempt, consent, signal }: StreamOptions) {
  if (['between', 'consent', 'fail', 'wait'].includes(word)) yield 'Look'
  if (word === 'between' || word === 'consent') yield 'ing.'
  if (word === 'again') {
    yield attempt === 1 ? 'Half of ' : 'All of '
    if (attempt === 1) throw new Unavailable('Cannot reach the tower: it is gone', { retryAfter: 0 })
  }
  yield startedCall
  if (word === 'fail') throw new Error('secret detail')
  yield endedCall
  yield 'It is '
  yield 'noon.'
  if (word === 'wait') {
    await once(signal, 'abort')
    signal.throwIfAborted()
  }
  if (word === 'consent') yield { parts: [...consent(), textPart('Then I set it.')] }
  if (word === 'question') yield { status: 'input_required', parts: [textPart(' Shall I set it?')] }
}
