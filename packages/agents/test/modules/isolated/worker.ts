// Runs in isolation the action that the text of a message names.
import { threadId } from 'node:worker_threads'
import type { NormalizedMessage, Part } from '@postern/message'
import type { AgentContext, ForgettingContext, ForgottenPerson } from '@postern/pipeline'

const wordsOf = (parts: readonly Part[]) => parts.map(part => (part.kind === 'text' ? part.content : '')).join('')

export function handle(message: NormalizedMessage, context: AgentContext): unknown {
  const text = wordsOf(message.parts)
  const act = acts[text]
  return act ? act(context, message) : `heard ${text}`
}

/** Logs each person whose data it must delete. For some people it fails, and for some it never ends. */
export function forget({ person, threads }: ForgottenPerson, { id, log }: ForgettingContext): void {
  if (person === 'locked') throw new Error('the database is locked')
  while (person === 'endless');
  log.info({ id, person, threads }, 'forgotten')
}

const acts: Readonly<Record<string, (context: AgentContext, message: NormalizedMessage) => unknown>> = {
  loop() {
    for (;;);
  },
  async *loopInStream() {
    yield 'begun'
    for (;;);
  },
  async *pieces() {
    for (const piece of ['one, ', 'two, ', 'three']) yield piece
  },
  async *endless() {
    for (;;) yield ''
  },
  exit: () => process.exit(3),
  memory() {
    const memory: unknown[] = []
    for (;;) memory.push(new Array(100_000).fill(Math.random()))
  },
  throws() {
    throw Object.assign(new TypeError('no such order'), { code: 'E1' })
  },
  unreadable() {
    throw Object.defineProperty(new Error('x'), 'message', {
      get: () => {
        throw new Error('boom')
      },
    })
  },
  silent: () => undefined,
  thread: () => String(threadId),
  lingers({ post, call }) {
    setTimeout(() => {
      post('too late')
      void call('@bob@peer.test', 'too late')
    }, 20)
    return 'gone'
  },
  unsendable: () => () => 'a function',
  computes: ({ person }) => person?.state?.set(() => 'computed'),
  async waits({ signal }) {
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  },
  async context(
    { state, attachment, call, post, refuse, identity, history, log, flags, correlationId, note },
    { parts },
  ) {
    const before = await state.get()
    state.set({ seen: true })
    const { bytes } = await attachment(parts[0] as never)
    const failed = await call('@bob@peer.test', 'hi').catch((error: Error) => `${error.name}: ${error.message}`)
    let refused = ''
    try {
      note({ type: 'nonsense' })
    } catch (error) {
      refused = `${(error as Error).name} ${(error as { code?: string }).code}`
    }
    log.info({ a: 1 }, 'logged')
    return JSON.stringify({
      before,
      bytes: [...bytes],
      failed,
      refused,
      posted: post('hello'),
      policy: refuse({ message: 'No.' }).status,
      has: identity.has({ assurance: 'address' }),
      turns: history().turns.length,
      flags,
      correlationId,
    })
  },
}
