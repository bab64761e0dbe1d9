// Answers in the way that the first word of a message names.
import type { NormalizedMessage, Part } from '@postern/message'
import { plainTextOf, Undeliverable } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'

type Reply = string | undefined | object

const textPart = (content: string): Part => ({ kind: 'text', mime: 'text/plain', content })

const replies: Readonly<Record<string, (message: NormalizedMessage, context: AgentContext) => Reply | Promise<Reply>>> =
  {
    async *count() {
      for (const word of ['one ', 'two ', 'three']) yield word
    },
    tool: () => ({
      parts: [
        { kind: 'tool_call', id: 'call-1', name: 'search', args: { q: 'it' }, result: { hits: 3 } },
        textPart('three hits'),
      ],
    }),
    html: () => ({ parts: [{ ...textPart('<h2>Hours</h2><ul><li>Mon: 9-5</li></ul>'), mime: 'text/html' }] }),
    async *marked() {
      const htmlPart = (content: string): Part => ({ kind: 'text', mime: 'text/html', content })
      yield { status: 'working', parts: [htmlPart('<p>Looking <b>there</b></p>')] }
      await new Promise(resolve => setTimeout(resolve, 50))
      yield { status: 'input_required', parts: [htmlPart('<p>Which <b>one</b>?</p>')] }
    },
    /** Both halves of a call in one value, a call with the id of another one, and both halves again after the answer. */
    halves: () => ({
      parts: [
        { kind: 'tool_call', id: 'half', name: 'search', args: { q: 'it' } },
        textPart('looking'),
        { kind: 'tool_call', id: 'half', name: 'search', result: { hits: 3 } },
        { kind: 'tool_call', id: 'half', name: 'search', args: { q: 'that' }, result: { hits: 0 } },
        textPart('three hits'),
      ],
      trace: [
        { kind: 'tool_call', id: 'behind', name: 'hand_over', args: { to: 'b' } },
        { kind: 'tool_call', id: 'behind', name: 'hand_over', result: 'done' },
      ],
    }),
    async *running() {
      yield { kind: 'tool_call', id: 'call-2', name: 'search', args: { q: 'it' } }
      yield { kind: 'tool_call', id: 'call-2', name: 'search', args: { q: 'it' }, result: 'found' }
      yield 'done'
    },
    theirs: () => ({ parts: [{ kind: 'tool_call', id: 'call-3', name: 'pick_color', args: { of: 'roof' } }] }),
    ask: () => ({ status: 'input_required', parts: [textPart('Which one?')] }),
    search: () => ({
      status: 'input_required',
      parts: [
        { kind: 'tool_call', id: 'call-5', name: 'search', args: { q: 'it' }, result: { hits: 3 } },
        textPart('Which of the three?'),
      ],
    }),
    doubt: (_, { requireConsent }) =>
      requireConsent({
        approver: 'operator',
        title: 'Likely fraud',
        message: 'Refund 500 to this fraud?',
        code: 'fraud:likely',
        data: { note: 'fraud' },
      }),
    patience: (_, { requireConsent }) =>
      requireConsent({ approver: 'operator', message: 'Refund this fraud?', sender_message: 'We look into it.' }),
    consent: (_, { requireConsent }) => requireConsent({ message: 'May I delete it?', title: 'Delete' }),
    async *boom() {
      yield 'half of '
      throw new Error('secret detail')
    },
    async *fade() {
      yield 'half of '
      throw new Undeliverable('Cannot reach the model: it is gone')
    },
    /** Continues when the test allows it. */
    async *linger(_, { signal }) {
      yield 'begun '
      while (process.env.LINGER) await new Promise(resolve => setTimeout(resolve, 5))
      signal.throwIfAborted()
      yield 'and done'
    },
    async *stumble() {
      yield { kind: 'tool_call', id: 'call-4', name: 'search', args: { q: 'it' } }
      throw new Error('secret detail')
    },
    silence: () => undefined,
    async *wait(_, { signal }) {
      yield 'begun'
      await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    },
    async look({ parts }, { attachment }) {
      const files = parts.filter(part => part.kind === 'file')
      const fileTexts = await Promise.all(
        files.map(async part => `${part.mime} ${(await attachment(part)).bytes.length}`),
      )
      return (
        [...fileTexts, ...parts.flatMap(part => (part.kind === 'link' ? [`link ${part.url}`] : []))].join('; ') ||
        'nothing'
      )
    },
    picture: () => ({
      parts: [
        textPart('here'),
        { kind: 'file', name: 'a.txt', mime: 'text/plain', bytes_ref: { kind: 'inline', data_base64: 'aGk=' } },
      ],
    }),
  }

export function handle(message: NormalizedMessage, context: AgentContext) {
  const { policy_resolution: resolution, parts } = message
  if (resolution) return `decided: ${String(resolution.outcome)}`
  const result = parts.find(part => part.kind === 'tool_call')
  if (result) return `result: ${String(result.result)}`
  const text = plainTextOf(parts)
  const reply = replies[text.split(/\s/)[0] ?? '']
  return (reply ? reply(message, context) : `you said: ${text}; turns: ${message.history?.length ?? 0}`) as string
}
