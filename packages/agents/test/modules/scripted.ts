// Answers by the script that the text of a message names.
import type { NormalizedMessage } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'

// This module is TypeScript, whose types must be stripped before it runs.
type Script = (message: NormalizedMessage, context: AgentContext) => unknown
interface Stored {
  readonly kept?: string
}

const scripts: Readonly<Record<string, Script>> = {
  silence: () => undefined,
  fail: () => {
    throw new Error('correct-horse-battery-staple')
  },
  hang: (_message, { signal }) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  count: (_message, { history }) => `${history().turns.length} turns`,
  hash: async ({ parts }, { attachment }) => {
    const file = parts.find(part => part.kind === 'file')
    const { bytes } = await attachment(file as NonNullable<typeof file>)
    const digest = await crypto.subtle.digest('SHA-256', new Uint8Array(bytes))
    return Buffer.from(digest).toString('hex')
  },
  remember: ({ parts }, { state }) => {
    state.set({ kept: textOf(parts).replace('remember ', '') })
    return 'kept'
  },
  recall: async (_message, { state }) => ((await state.get()) as Stored | undefined)?.kept ?? 'nothing',
  stream: async function* () {
    yield { kind: 'tool_call', id: 't1', name: 'look', args: {} }
    yield 'I looked. '
    yield { kind: 'tool_call', id: 't1', name: 'look', args: {}, error: { message: 'nothing there' } }
  },
  refuse: () => ({ status: 'rejected', parts: [{ kind: 'policy', policy: { kind: 'forbidden', message: 'No.' } }] }),
}

export function handle(message: NormalizedMessage, context: AgentContext): unknown {
  const [word = ''] = textOf(message.parts).split(' ')
  return scripts[word]?.(message, context) ?? (word in scripts ? undefined : `You said ${word}`)
}

let closings = 0

export function close(): void {
  closings += 1
}

export function countClosings(): number {
  return closings
}

function textOf(parts: NormalizedMessage['parts']): string {
  return parts.map(part => (part.kind === 'text' ? part.content : '')).join('')
}
