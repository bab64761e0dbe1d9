// Runs one turn of a swarm: several agents behind one address, one of which speaks in the conversation.
import type { NormalizedMessage } from '@postern/message'
import { lazy } from '@postern/message'
import type { Agent, AgentChunk, AgentContext } from '@postern/pipeline'
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
import type { Approvals } from '../approval/port.ts'
import type { AgentStores, AgentSystem } from '../kind/agent-kind.ts'
import { readReceivedText } from '../kind/received-text.ts'
import type { NameDelimiter } from '../prompt/data-block.ts'
import { readImages } from '../prompt/messages.ts'
import type { AnswerFile } from '../tools/tool-files.ts'
import type { ToolSwarm } from '../tools/tools.ts'
import { filesOf } from '../tools/tools.ts'
import { endAskedCalls } from './asked-calls.ts'
import { createChunkQueue } from './chunk-queue.ts'
import type { SpecDeps, SpecTurn } from './members/members.ts'
import { buildSwarmSpec, createWordCheck } from './members/members.ts'
import { takeOperatorMail } from './operator-mail.ts'

interface SwarmAgentDeps extends SpecDeps {
  readonly stores: AgentStores
  readonly system: AgentSystem
  readonly approvals: Approvals
  readonly nameDelimiter: NameDelimiter
  /** The time limit for all model requests in one turn, ms. */
  readonly timeoutMs: number
}

interface Heard {
  readonly message: NormalizedMessage
  readonly context: AgentContext
  tell(chunk: AgentChunk): void
}

/** Creates an agent that consists of several members. One member at a time speaks in each conversation. */
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
    // Output that arrives after an abort is discarded.
    signal.throwIfAborted()
    if (turn.isWaiting) return tell({ speaker: client.navigation.active })
    const { refusal } = turn
    if (refusal === undefined || !answer.endsWith(refusal)) return speech.end(speech.restOf(answer))
    tell({ ...context.refuse({ message: refusal }), speaker: client.navigation.active })
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}

/** Creates the speech of a turn, which reports each piece under its speaker's name. */
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
    end(remaining: string) {
      const parts = [{ kind: 'text', mime: 'text/markdown', content: remaining } as const]
      tell({ ...((remaining !== '' || told === '') && { parts }), speaker: navigation.active })
    },
  }
}

/** Removes the name of a file if a policy forbids it, because a name is text, too. */
function withoutUnsaid(file: AnswerFile, { policies }: SwarmAgentDeps['config']): AnswerFile {
  const { name, ...others } = file
  const isFree = Object.values(policies).every(({ refuse_output }) => createWordCheck(refuse_output)(name ?? ''))
  return isFree ? file : others
}

interface OpenedTurn {
  readonly client: SwarmClient
  readonly turn: SpecTurn & { readonly isWaiting: boolean; readonly refusal: string | undefined }
  readonly transcript: TranscriptStore
  /** True if the store records messages and actions. */
  readonly isBound: boolean
}

async function openTurn(agentDeps: SwarmAgentDeps, heard: Heard): Promise<OpenedTurn> {
  const { name, stores, system } = agentDeps
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
      tieShared: createSharedTies(agentDeps.config, context, system),
    }),
    bus: createSwarmBus({ log }),
    system: { ...system, log },
    owner,
  }
  const client: SwarmClient = await openSwarmClient(buildSwarmSpec(agentDeps, turn), deps, clientId)
  return { client, turn, transcript, isBound }
}

interface SpecTurnDeps {
  readonly kept: SpecTurn['kept']
  readonly clientId: string
  /** Finds the client of the turn, which is opened after the turn is built. */
  findClient(): SwarmClient
}

/** Creates the turn in the form that the members of the swarm use. */
function createSpecTurn(agentDeps: SwarmAgentDeps, heard: Heard, deps: SpecTurnDeps): OpenedTurn['turn'] {
  const { message, context, tell } = heard
  const { kept, clientId, findClient } = deps
  let calls = 0
  const turn: SpecTurn & { isWaiting: boolean; refusal: string | undefined } = {
    context: { ...context, message, state: kept.ofTools, swarm: createToolSwarm(findClient) },
    heard: { message, flags: context.flags ?? [], delimiter: agentDeps.nameDelimiter(message, context) },
    readImages: lazy(() => readImages(message, context)),
    endsAt: agentDeps.system.now() + agentDeps.timeoutMs,
    checksMarkup: agentDeps.config.rescue_checks.includes('markup'),
    approvals: agentDeps.approvals,
    faults: new Map(),
    kept,
    tell,
    tellFiles(outcome) {
      const files = filesOf(outcome).map(file => withoutUnsaid(file, agentDeps.config))
      if (files.length > 0) tell({ parts: files })
    },
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

/** Creates the interface through which tools use the swarm. */
function createToolSwarm(findClient: SpecTurnDeps['findClient']): ToolSwarm {
  return {
    state: name => findClient().data.state(name),
    storage: name => findClient().data.storage(name),
    compute: name => findClient().data.compute(name),
    runStateless: words => findClient().runStateless(words),
  }
}
