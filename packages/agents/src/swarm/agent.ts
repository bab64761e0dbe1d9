import type { Agent, AgentChunk, AgentContext, FilePart, NormalizedMessage } from '@postern/core'
import { lazy } from '@postern/core'
import type { SwarmClient } from '@postern/swarm'
import {
  createSharedTies,
  createSwarmBus,
  createTurnRecords,
  createTurnTranscript,
  openSwarmClient,
  openTurnState,
  readSwarmState,
} from '@postern/swarm'
import type { TranscriptStore } from '@postern/transcript'
import { detectImageType } from '@postern/transcript'
import type { Approvals } from '../approval/port.ts'
import type { AgentPlatform, AgentStores } from '../kind/agent-kind.ts'
import { readReceivedText } from '../kind/running-agents.ts'
import { readImages } from '../prompt/messages.ts'
import type { ToolSwarm } from '../tools/tools.ts'
import { endAskedCalls } from './asked-calls.ts'
import { createChunkQueue } from './chunk-queue.ts'
import type { SpecDeps, SpecTurn } from './members/members.ts'
import { buildSwarmSpec, createWordCheck } from './members/members.ts'
import { takeOperatorMail } from './operator-mail.ts'

interface SwarmAgentDeps extends SpecDeps {
  readonly stores: AgentStores
  readonly platform: AgentPlatform
  readonly approvals: Approvals
  /** For all model requests in one turn, ms. */
  readonly timeoutMs: number
}

interface Heard {
  readonly message: NormalizedMessage
  readonly context: AgentContext
  tell(chunk: AgentChunk): void
}

/** Several agents behind one address. One of them has each conversation at a time. */
export function createSwarmKindAgent(agentDeps: SwarmAgentDeps): Agent {
  return {
    handle(message, context) {
      const queue = createChunkQueue<AgentChunk>()
      runTurn(agentDeps, { message, context, tell: queue.tell }).then(queue.end, queue.fail)
      return queue
    },
  }
}

async function runTurn(agentDeps: SwarmAgentDeps, heard: Heard): Promise<void> {
  const { message, context, tell } = heard
  const { signal } = context
  signal.throwIfAborted()
  if (await takeOperatorMail(agentDeps, heard)) return
  const { client, isBound, turn, transcript } = await openTurn(agentDeps, heard)
  const cancel = () => void client.cancelOutput()
  signal.addEventListener('abort', cancel)
  try {
    turn.showState()
    await endAskedCalls(agentDeps, heard, { client, turn, transcript })
    const payload = { message_id: message.id, sender: message.sender.address }
    const speech = createTurnSpeech(client, tell)
    const answer = await client.complete(readReceivedText(message), { payload, isStored: isBound, hear: speech.hear })
    // Later output is dropped.
    signal.throwIfAborted()
    if (turn.isWaiting) return tell({ speaker: client.navigation.active })
    const { refusal } = turn
    if (refusal === undefined || !answer.endsWith(refusal)) return speech.end(speech.restOf(answer))
    tell({ ...context.refuse({ message: refusal }), speaker: client.navigation.active })
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}

/** The text of a turn on its way out, each piece under its speaker's name. */
function createTurnSpeech({ navigation }: Pick<SwarmClient, 'navigation'>, tell: (chunk: AgentChunk) => void) {
  let told = ''
  let speaker: string | undefined
  return {
    hear(words: string) {
      if (speaker !== navigation.active) tell({ speaker: navigation.active })
      speaker = navigation.active
      told += words
      tell(words)
    },
    restOf: (answer: string) => (told !== '' && answer.startsWith(told) ? answer.slice(told.length) : answer),
    end(rest: string) {
      const parts = [{ kind: 'text', mime: 'text/markdown', content: rest } as const]
      tell({ ...((rest !== '' || told === '') && { parts }), speaker: navigation.active })
    },
  }
}

type AboutFile = Parameters<ToolSwarm['attach']>[1]

/** A name is text, too, so policies check it. */
function withoutUnsaid(
  { name, ...others }: NonNullable<AboutFile> = {},
  policies: SwarmAgentDeps['config']['policies'],
): AboutFile {
  const isFree = Object.values(policies).every(({ refuse_output }) => createWordCheck(refuse_output)(name ?? ''))
  return { ...others, ...(name !== undefined && isFree && { name }) }
}

function describeFile(bytes: Uint8Array, { name, mime = 'application/octet-stream' }: AboutFile = {}): FilePart {
  const data_base64 = Buffer.from(bytes).toString('base64')
  return {
    kind: 'file',
    mime: detectImageType(bytes) ?? mime,
    size: bytes.length,
    ...(name !== undefined && { name }),
    bytes_ref: { kind: 'inline', data_base64 },
  }
}

interface OpenedTurn {
  readonly client: SwarmClient
  readonly turn: SpecTurn & { readonly isWaiting: boolean; readonly refusal: string | undefined }
  readonly transcript: TranscriptStore
  /** The store keeps messages and actions. */
  readonly isBound: boolean
}

async function openTurn(agentDeps: SwarmAgentDeps, heard: Heard): Promise<OpenedTurn> {
  const { name, stores, platform } = agentDeps
  const { message, context } = heard
  const { log, thread } = context
  const owner = `agent:${name}`
  const clientId = String(thread ?? message.thread_id)
  const key = await stores.transcript.openThread(owner, { transport: 'swarm', key: clientId })
  const isBound = thread !== undefined && (await stores.transcript.bindStore(key, thread))
  const kept = await openTurnState(context.state, agentDeps.config.data_limits.conversation_bytes)
  const turn = createSpecTurn(agentDeps, heard, { kept, clientId, findClient: () => client })
  const transcript = isBound ? createTurnTranscript(stores.transcript, message) : stores.transcript
  const deps = {
    transcript,
    records: createTurnRecords(stores.records, {
      kept,
      message,
      tieShared: createSharedTies(agentDeps.config, context, platform),
    }),
    bus: createSwarmBus({ log }),
    platform: { ...platform, log },
    owner,
  }
  const client: SwarmClient = await openSwarmClient(buildSwarmSpec(agentDeps, turn), deps, clientId)
  return { client, turn, transcript, isBound }
}

interface SpecTurnDeps {
  readonly kept: SpecTurn['kept']
  readonly clientId: string
  /** The client of the turn, which is opened after it. */
  findClient(): SwarmClient
}

/** The turn as the members of the swarm work with it. */
function createSpecTurn(agentDeps: SwarmAgentDeps, heard: Heard, deps: SpecTurnDeps): OpenedTurn['turn'] {
  const { message, context, tell } = heard
  const { kept, clientId, findClient } = deps
  let calls = 0
  const turn: SpecTurn & { isWaiting: boolean; refusal: string | undefined } = {
    context: { ...context, message, state: kept.ofTools, swarm: createToolSwarm(agentDeps, tell, findClient) },
    heard: { message, flags: context.flags ?? [] },
    readImages: lazy(() => readImages(message, context)),
    endsAt: agentDeps.platform.now() + agentDeps.timeoutMs,
    approvals: agentDeps.approvals,
    faults: new Map(),
    kept,
    tell,
    nameCall() {
      calls += 1
      return `call-${context.responseId}-${calls}`
    },
    showState() {
      const { activeAgent, navigationStack } = readSwarmState(findClient().navigation)
      tell({ chat_state: { activeAgent, navigationStack: [...navigationStack] } })
    },
    findRefusal: words => findClient().bans.checkMessage('output', words, clientId),
    isWaiting: false,
    endWaiting() {
      turn.isWaiting = true
    },
    refusal: undefined,
    refuse(words) {
      turn.refusal = words
      return words
    },
  }
  return turn
}

/** What tools may do with the swarm. */
function createToolSwarm(
  { config }: SwarmAgentDeps,
  tell: Heard['tell'],
  findClient: SpecTurnDeps['findClient'],
): ToolSwarm {
  return {
    state: name => findClient().data.state(name),
    storage: name => findClient().data.storage(name),
    compute: name => findClient().data.compute(name),
    runStateless: words => findClient().runStateless(words),
    attach: (bytes, about) => tell(describeFile(bytes, withoutUnsaid(about, config.policies))),
  }
}
