// Tests the behaviour that every kind of agent must have, whatever produces its answers.

import type { FilePart, HistoricalMessage, Json, NormalizedMessage, PartialResponse } from '@postern/message'
import {
  createSenderIdentity,
  noLog,
  normalizedMessageSchema,
  normalizedResponseSchema,
  plainTextOf,
  Unavailable,
} from '@postern/message'
import type { Agent, AgentContext, AttachmentBytes, HistoryView } from '@postern/pipeline'
import { collectAnswer, completeResponse, createRequirementList } from '@postern/pipeline'
import { describe, expect, test } from 'vitest'

interface AgentSubject {
  readonly agent: Agent
  /** The text that makes the agent show the behaviour of the case; default: `hello`. */
  readonly prompt?: string
  close?(): Promise<void> | void
}

type MakeAgent = () => Promise<AgentSubject> | AgentSubject

/** One agent of the kind for each behaviour. A behaviour that the kind does not support is left out. */
export interface AgentMakers {
  /** An agent that answers with some text. */
  readonly answers: MakeAgent
  /** An agent that gives no answer. */
  readonly staysSilent?: MakeAgent
  /** An agent that fails with an error whose text contains `agentSecret`. */
  readonly fails?: MakeAgent
  /** An agent that depends on a service that does not answer. */
  readonly isUnavailable?: MakeAgent
  /** An agent that does not end before its signal aborts. */
  readonly hangs?: MakeAgent
  /** An agent that answers with the number of turns in its history, in decimal, and with no other number. */
  readonly countsHistory?: MakeAgent
  /** An agent that answers with the lower-case hex SHA-256 of the attachment. */
  readonly hashesAttachment?: MakeAgent
  /** An agent that stores the text after `remember`, and repeats it after `recall` in the same thread. */
  readonly remembers?: MakeAgent
  /** An agent that streams a tool call, which begins and ends under one id, and some text. */
  readonly streams?: MakeAgent
  /** An agent that refuses with a policy part and the status `rejected`. */
  readonly refuses?: MakeAgent
}

/** The text that the error of a failing agent must contain, and no answer may contain. */
export const agentSecret = 'correct-horse-battery-staple'

/** The SHA-256 of the attachment of every message of the contract, the text `attached bytes`. */
const attachmentDigest = '80e0f4c76d8c640f53ccfb83ee1aedcc1c26f4facf9a10232a56f6ce5ff12477'

const attachedBytes = new TextEncoder().encode('attached bytes')
const receivedAt = '2026-01-01T00:00:00.000Z'

const attachment: FilePart = {
  kind: 'file',
  name: 'note.txt',
  mime: 'text/plain',
  size: attachedBytes.length,
  bytes_ref: { kind: 'content_addressed', algo: 'sha256', digest: attachmentDigest },
}

const pastTurns: readonly HistoricalMessage[] = ['one', 'two', 'three', 'four', 'five', 'six'].map((word, index) => ({
  id: `past-${word}`,
  role: index % 2 === 0 ? 'user' : 'assistant',
  sender: { address: index % 2 === 0 ? '@alice@peer.test' : '@agent@agents.test' },
  parts: [{ kind: 'text', mime: 'text/plain', content: word }],
  timestamp: receivedAt,
}))

/** Runs the tests that every kind of agent must pass. */
export function agentContract(kind: string, makers: AgentMakers): void {
  const cases = Object.entries(makers).map(([name, maker]) => [agentCases[name as keyof AgentMakers], maker] as const)
  describe(`an agent of the kind ${kind} (MN-1.1)`, () => {
    for (const [{ sentence, checkConversation }, maker] of cases) {
      test(sentence, async () => {
        const subject = await maker()
        try {
          await checkConversation(openConversation(subject))
        } finally {
          await subject.close?.()
        }
      })
    }
  })
}

interface AgentReply {
  readonly answer: PartialResponse | undefined
  readonly text: string
  readonly chunks: readonly PartialResponse[]
}

interface Conversation {
  /** Gives the agent one message, as a worker does, and reads its whole answer. */
  askAgent(text?: string, signal?: AbortSignal): Promise<AgentReply>
}

interface AgentCase {
  readonly sentence: string
  checkConversation(conversation: Conversation): Promise<void>
}

const agentCases: { readonly [Name in keyof Required<AgentMakers>]: AgentCase } = {
  answers: {
    sentence: 'answers a message completely, and answers a repeated message again',
    checkConversation: checkAnswers,
  },
  staysSilent: { sentence: 'may say nothing', checkConversation: checkSilence },
  fails: { sentence: 'throws when it fails, and answers with nothing of its error', checkConversation: checkFailure },
  isUnavailable: { sentence: 'throws Unavailable if a later attempt may succeed', checkConversation: checkUnavailable },
  hangs: { sentence: 'ends when its signal aborts', checkConversation: checkSignal },
  countsHistory: { sentence: 'gets the trimmed history', checkConversation: checkHistory },
  hashesAttachment: { sentence: 'can read an attachment', checkConversation: checkAttachment },
  remembers: { sentence: 'keeps state for its thread', checkConversation: checkState },
  streams: { sentence: 'streams, and ends a tool call under the id it began with', checkConversation: checkStream },
  refuses: { sentence: 'can refuse', checkConversation: checkRefusal },
}

async function checkAnswers({ askAgent }: Conversation): Promise<void> {
  for (const { answer, text } of [await askAgent(), await askAgent()]) {
    expect(text).not.toBe('')
    const responseIdentity = { id: 'response-1', createdAt: receivedAt }
    const response = completeResponse(answer ?? {}, { content: createMessage('hello') }, responseIdentity)
    expect(normalizedResponseSchema.parse(JSON.parse(JSON.stringify(response)))).toEqual(response)
  }
}

async function checkSilence({ askAgent }: Conversation): Promise<void> {
  expect((await askAgent()).answer).toBeUndefined()
}

async function checkFailure({ askAgent }: Conversation): Promise<void> {
  const outcome = await askAgent().catch((error: unknown) => error)
  expect(outcome).toBeInstanceOf(Error)
  expect(outcome).not.toBeInstanceOf(Unavailable)
}

async function checkUnavailable({ askAgent }: Conversation): Promise<void> {
  await expect(askAgent()).rejects.toBeInstanceOf(Unavailable)
}

async function checkSignal({ askAgent }: Conversation): Promise<void> {
  const controller = new AbortController()
  const pendingAnswer = askAgent(undefined, controller.signal)
  const first = await Promise.race([pendingAnswer.catch(() => 'ended'), nextRounds()])
  expect(first).toBe('still waiting')
  controller.abort(new Error('canceled'))
  await expect(pendingAnswer).rejects.toThrow()
}

async function checkHistory({ askAgent }: Conversation): Promise<void> {
  expect((await askAgent()).text.match(/\d+/)?.[0]).toBe(String(pastTurns.length))
}

async function checkAttachment({ askAgent }: Conversation): Promise<void> {
  expect((await askAgent()).text).toContain(attachmentDigest)
}

async function checkState({ askAgent }: Conversation): Promise<void> {
  expect((await askAgent('recall')).text).not.toContain('vermilion')
  await askAgent('remember vermilion')
  expect((await askAgent('recall')).text).toContain('vermilion')
}

async function checkStream({ askAgent }: Conversation): Promise<void> {
  const { answer, text, chunks } = await askAgent()
  const calls = chunks.flatMap(({ parts = [] }) => parts.filter(part => part.kind === 'tool_call'))
  expect(calls.map(({ id, result, error }) => [id, result !== undefined || error !== undefined])).toEqual([
    [calls[0]?.id, false],
    [calls[0]?.id, true],
  ])
  expect(answer?.parts?.filter(part => part.kind === 'tool_call')).toEqual([calls[1]])
  expect(text).not.toBe('')
}

async function checkRefusal({ askAgent }: Conversation): Promise<void> {
  const { answer } = await askAgent()
  expect(answer?.status).toBe('rejected')
  const policies = answer?.parts?.filter(part => part.kind === 'policy') ?? []
  expect(policies).toHaveLength(1)
  expect(policies[0]?.policy.message).not.toBe('')
}

function openConversation({ agent, prompt = 'hello' }: AgentSubject): Conversation {
  let storedState: Json | undefined
  return {
    async askAgent(text = prompt, signal = new AbortController().signal) {
      const chunks: PartialResponse[] = []
      const { context, changed: readChanges } = createContext(signal, storedState)
      const answer = await collectAnswer(await agent.handle(createMessage(text), context), chunk => chunks.push(chunk))
      storedState = readChanges() ?? storedState
      expect(JSON.stringify(answer) ?? '').not.toContain(agentSecret)
      return { answer, text: plainTextOf(answer?.parts ?? []), chunks }
    },
  }
}

function createMessage(text: string): NormalizedMessage {
  return normalizedMessageSchema.parse({
    id: 'https://peer.test/activities/1',
    thread_id: 'https://peer.test/contexts/1',
    sender: { address: '@alice@peer.test', auth_method: 'none', verified: false },
    recipient: '@agent@agents.test',
    parts: [{ kind: 'text', mime: 'text/plain', content: text }, attachment],
    history: pastTurns,
    recipient_capabilities: { mention_relay: { kind: 'none' } },
    received_via: 'a2a',
    received_at: receivedAt,
    raw: {},
  })
}

function createContext(signal: AbortSignal, storedState: Json | undefined) {
  let state = storedState
  const history: HistoryView = { turns: pastTurns, cacheBreakpointAfter: 1 }
  const bytes: AttachmentBytes = { bytes: attachedBytes, mime: 'text/plain', name: 'note.txt' }
  const context: AgentContext = {
    signal,
    history: () => history,
    attachment: async () => bytes,
    state: {
      get: async () => state,
      set: value => {
        state = value
      },
    },
    identity: createSenderIdentity({}),
    isPublic: async () => false,
    log: noLog,
    call: async () => {
      throw new Error('nobody is there to be called')
    },
    correlationId: 'c0ffee',
    responseId: 'response-1',
    post: () => 'post-1',
    reply: async () => 'reply-1',
    edit: async () => undefined,
    delete: async () => undefined,
    react: async () => undefined,
    note() {},
    stage() {},
    ...createRequirementList(
      { origin: 'https://agents.test', ttlMs: 3_600_000, stateOf: id => `state of ${id}`, digestOf: state => state },
      { now: () => Date.UTC(2026, 0, 1), randomBytes: count => new Uint8Array(count) },
    ),
  }
  return { context, changed: () => state }
}

/** Waits for some rounds of the event loop. An agent that does not wait has ended by then. */
async function nextRounds(): Promise<string> {
  for (let round = 0; round < 20; round += 1) await new Promise(resolve => setImmediate(resolve))
  return 'still waiting'
}
