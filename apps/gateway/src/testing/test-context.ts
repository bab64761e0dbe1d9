// Creates messages and contexts for tests that call an agent or a tool without a gateway.
import { hash, randomBytes } from 'node:crypto'
import type {
  AgentAction,
  ArtifactPart,
  FilePart,
  GivenPart,
  Json,
  Part,
  NormalizedMessage as StoredMessage,
} from '@postern/message'
import {
  agentActionSchema,
  createSenderIdentity,
  createTransportEvidence,
  givenPartSchema,
  makeId,
  noLog,
  Undeliverable,
} from '@postern/message'
import type { AgentAskOptions, AgentCallAnswer, AgentNote, AgentPerson, AttachmentBytes } from '@postern/pipeline'
import { createRequirementList } from '@postern/pipeline'
import type { AgentState, NormalizedMessage, ToolContext } from '@postern/sdk'
import { channelModules } from '../channels.ts'

/** The members of a message that a test sets. The others get made-up values. */
export interface TestMessage extends Partial<Omit<StoredMessage, 'parts' | 'sender'>> {
  /** The text of the message. Default: the texts in `parts`. */
  readonly text?: string | undefined
  readonly parts?: readonly GivenPart[] | undefined
  /** The address of the sender. Default: `@alice@peer.test`. */
  readonly from?: string | undefined
  /** False for an unproven sender. Default: true. */
  readonly verified?: boolean | undefined
}

export interface TestContextOptions<State = Json> {
  /** The message that the agent answers. Default: `createTestMessage()`. */
  readonly message?: NormalizedMessage | undefined
  /** The state of the conversation. Default: none. */
  readonly state?: State | undefined
  /** The person. Default: one with the sender's address, or none for an unproven sender. */
  readonly person?: AgentPerson | undefined
  readonly flags?: readonly string[] | undefined
  readonly signal?: AbortSignal | undefined
  /** True if everybody may read the conversation. Default: false. */
  readonly isPublic?: boolean | undefined
  /** Answers the agent's calls to other agents. Default: each call fails with `Undeliverable`. */
  call?(address: string, parts: readonly Part[], options: AgentAskOptions): Promise<Partial<AgentCallAnswer>>
  /** Reads a file whose bytes the part itself lacks. Default: it fails with `Undeliverable`. */
  readFile?(part: FilePart | ArtifactPart): AttachmentBytes | Promise<AttachmentBytes>
}

/** A context for an agent or a tool, with a record of its actions. */
export interface RecordedContext<State = Json> extends Omit<ToolContext, 'state'> {
  readonly state: AgentState<State>
  /** Posts, edits, deletions and reactions, in order. */
  readonly acts: readonly AgentAction[]
  readonly notes: readonly AgentNote[]
  readonly stages: readonly string[]
  /** The files that a tool attached. */
  readonly attached: readonly (AttachmentBytes & { readonly bytes: Uint8Array })[]
}

const system = { randomBytes, now: Date.now }
const [firstChannel] = channelModules
const { name: via, authMethods } = firstChannel.descriptor
const origin = 'https://agents.test'

/**
 * Creates a message in the form that agents receive. The sender is proven by default.
 *
 * @example
 * import { defineAgent, readMessageText } from 'postern'
 * import { createTestContext, createTestMessage } from 'postern/testing'
 * import { expect, test } from 'vitest'
 *
 * const desk = defineAgent({ handle: message => `You said: ${readMessageText(message)}` })
 *
 * test('the desk says it back', async () => {
 *   const message = createTestMessage({ text: 'hello', from: '@bob@peer.test' })
 *   expect(await desk.handle(message, createTestContext({ message }))).toBe('You said: hello')
 * })
 */
export function createTestMessage(options: TestMessage = {}): NormalizedMessage {
  const { text, parts = [], from = '@alice@peer.test', verified = true, ...members } = options
  const { recipient = '@desk@agents.test', received_at = new Date().toISOString() } = members
  const textParts: GivenPart[] = text === undefined ? [] : [{ kind: 'text', mime: 'text/plain', content: text }]
  const id = makeId(system)
  return {
    id: `https://peer.test/messages/${id}`,
    thread_id: makeId(system),
    recipient,
    received_via: via,
    received_at,
    recipient_capabilities: { mention_relay: { kind: 'none' } },
    raw: {},
    ...members,
    kind: members.kind ?? 'message',
    sender: describeSender(from, { verified, audience: recipient, issuedAt: received_at }),
    parts: [...textParts, ...parts].map(part => givenPartSchema.parse(part)),
  }
}

interface SenderProof {
  readonly verified: boolean
  readonly audience: string
  readonly issuedAt: string
}

function describeSender(address: string, { verified, ...claim }: SenderProof): NormalizedMessage['sender'] {
  if (!verified) return { address, auth_method: 'none', verified }
  const issuer = address.split('@').at(-1) ?? ''
  const [method = 'none'] = authMethods
  const identity = createTransportEvidence({ method, subject: address, issuer, assurance: 'address', ...claim })
  return { address, auth_method: method, verified, identities: [identity] }
}

/**
 * Creates a context for one turn of an agent, or for one tool call. Nothing leaves it: the agent's actions are recorded in `acts`, `notes`
 * and `stages`. `State` is the type of the conversation's state.
 *
 * @example
 * import { defineAgent } from 'postern'
 * import { createTestContext, createTestMessage } from 'postern/testing'
 * import { expect, test } from 'vitest'
 *
 * const desk = defineAgent({
 *   handle(_message, context) {
 *     context.state.set({ asked: true })
 *     context.post('Somebody has asked.')
 *     return 'Noted.'
 *   },
 * })
 *
 * test('the desk posts what it notes', async () => {
 *   const message = createTestMessage({ text: 'hello' })
 *   const context = createTestContext({ message })
 *   await desk.handle(message, context)
 *   expect(context.acts).toMatchObject([{ act: 'post', parts: [{ content: 'Somebody has asked.' }] }])
 *   expect(await context.state.get()).toEqual({ asked: true })
 * })
 */
export function createTestContext<State = Json>(options: TestContextOptions<State> = {}): RecordedContext<State> {
  const { message = createTestMessage(), flags, isPublic = false, signal = new AbortController().signal } = options
  const person = options.person ?? findPerson(message)
  const [notes, stages, attached] = [[] as AgentNote[], [] as string[], [] as RecordedContext['attached'][number][]]
  return {
    message,
    notes,
    stages,
    attached,
    ...createActing(),
    ...createRequirementList({ origin, ttlMs: 86_400_000, ...requirementStates }, system),
    state: createState(options.state),
    signal,
    log: noLog,
    history: () => ({ turns: message.history ?? [] }),
    identity: createSenderIdentity(message.sender),
    isPublic: async () => isPublic,
    ...(person && { person }),
    ...(flags && { flags }),
    thread: 1,
    messageNumber: 1,
    correlationId: makeId(system),
    responseId: makeId(system),
    note: note => void notes.push(note),
    stage: name => void stages.push(name),
    attach: (bytes, file = {}) => void attached.push({ bytes, ...file }),
    attachment: part => readBytes(part, options),
    call: (address, content, askOptions = {}) => callTestAgent(address, toGivenParts(content), { askOptions, options }),
  }
}

/** The states of requirements, which nobody decides in a test. */
const requirementStates = {
  stateOf: (id: string) => hash('sha256', id, 'base64url'),
  digestOf: (state: string) => hash('sha256', state),
}

function findPerson({ sender, received_via: via }: NormalizedMessage): AgentPerson | undefined {
  const { address, verified } = sender
  return verified ? { id: hash('sha256', address).slice(0, 32), addresses: [{ via, address }] } : undefined
}

function createState<State>(initialState: State | undefined): AgentState<State> {
  let state = initialState
  return {
    get: async () => state,
    set(value) {
      state = value
    },
  }
}

type RecordedActions = Pick<RecordedContext, 'acts' | 'post' | 'reply' | 'edit' | 'delete' | 'react'>

/** Creates actions that always succeed. */
function createActing(): RecordedActions {
  const acts: AgentAction[] = []
  const recordAction = (act: Readonly<Record<string, unknown>>) => void acts.push(agentActionSchema.parse(act))
  return {
    acts,
    post(content, options) {
      const id = makeId(system)
      recordAction({ ...options, act: 'post', id, parts: toGivenParts(content) })
      return id
    },
    async reply(thread, content) {
      const id = makeId(system)
      recordAction({ act: 'reply', id, thread, parts: toGivenParts(content) })
      return id
    },
    async edit(response, content) {
      recordAction({ act: 'edit', response, parts: toGivenParts(content) })
      return undefined
    },
    async delete(response) {
      recordAction({ act: 'delete', response })
      return undefined
    },
    async react(reaction, message) {
      recordAction({ act: reaction, ...(message !== undefined && { message }) })
      return undefined
    },
  }
}

function toGivenParts(content: string | readonly GivenPart[]): readonly Part[] {
  if (typeof content !== 'string') return content.map(part => givenPartSchema.parse(part))
  return [{ kind: 'text', mime: 'text/markdown', content }]
}

/** Returns the inline bytes of a file, or else those that `readFile` returns. @throws Undeliverable without `readFile` */
async function readBytes(
  part: FilePart | ArtifactPart,
  { readFile }: Pick<TestContextOptions, 'readFile'>,
): Promise<AttachmentBytes> {
  const { name, mime, bytes_ref } = part
  if (bytes_ref.kind === 'inline') {
    const bytes = new Uint8Array(Buffer.from(bytes_ref.data_base64, 'base64'))
    return { bytes, ...(mime !== undefined && { mime }), ...(name !== undefined && { name }) }
  }
  if (!readFile) throw new Undeliverable('Cannot read attachment: set createTestContext({ readFile })')
  return readFile(part)
}

interface CallOptions {
  readonly askOptions: AgentAskOptions
  readonly options: Pick<TestContextOptions, 'call'>
}

/** Answers a call to another agent with `call`, completed by defaults. @throws Undeliverable without `call` */
async function callTestAgent(
  address: string,
  parts: readonly Part[],
  { askOptions, options }: CallOptions,
): Promise<AgentCallAnswer> {
  if (!options.call) throw new Undeliverable(`Cannot call ${address}: set createTestContext({ call })`)
  const answer = await options.call(address, parts, askOptions)
  return { parts: [], status: 'completed', source: { address, card: `${origin}/card` }, ...answer }
}
