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
import type { FindDelimiter } from '../prompt/data-block.ts'
import { readImages } from '../prompt/messages.ts'
import type { AnswerFile } from '../tools/tool-files.ts'
import type { ToolSwarm } from '../tools/tools.ts'
import { filesOf } from '../tools/tools.ts'
import { createChunkQueue } from './chunk-queue.ts'
import type { SpecDeps, SpecTurn } from './members/members.ts'
import { buildSwarmSpec, createWordCheck } from './members/members.ts'
import { acceptOperatorMail } from './operator-mail.ts'
import { commitCallStates } from './waiting-calls.ts'

interface SwarmAgentDeps extends SpecDeps {
  readonly stores: AgentStores
  readonly system: AgentSystem
  readonly approvals: Approvals
  readonly delimiterOf: FindDelimiter
  /** The time limit for all model requests in one turn, ms. */
  readonly timeoutMs: number
}

interface ReceivedMessage {
  readonly message: NormalizedMessage
  readonly context: AgentContext
  emit(chunk: AgentChunk): void
}

/** Creates an agent that consists of several members. One member at a time speaks in each conversation. */
export function createSwarmKindAgent(agentDeps: SwarmAgentDeps): Agent {
  return {
    handle(message, context) {
      const queue = createChunkQueue<AgentChunk>()
      runTurn(agentDeps, { message, context, emit: queue.add }).then(queue.end, queue.fail)
      return queue
    },
  }
}

async function runTurn(agentDeps: SwarmAgentDeps, receivedMessage: ReceivedMessage): Promise<void> {
  const { message, context, emit } = receivedMessage
  const { signal } = context
  signal.throwIfAborted()
  if (await acceptOperatorMail(agentDeps, receivedMessage)) return
  const { client, isBound, turn, transcript } = await openTurn(agentDeps, receivedMessage)
  const cancel = () => void client.cancelOutput()
  signal.addEventListener('abort', cancel)
  try {
    turn.showState()
    await commitCallStates(agentDeps, receivedMessage, { client, turn, transcript })
    const payload = { message_id: message.id, sender: message.sender.address }
    const speech = createTurnSpeech(client, emit)
    const answer = await client.complete(readReceivedText(message), {
      payload,
      isStored: isBound,
      onText: speech.accept,
    })
    // Output that arrives after an abort is discarded.
    signal.throwIfAborted()
    if (turn.isWaiting) return emit({ speaker: client.navigation.active })
    const { refusal } = turn
    if (refusal === undefined || !answer.endsWith(refusal)) return speech.end(speech.readRemainingText(answer))
    emit({ ...context.refuse({ message: refusal }), speaker: client.navigation.active })
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}

/** Creates the speech of a turn, which reports each piece under its speaker's name. */
function createTurnSpeech({ navigation }: Pick<SwarmClient, 'navigation'>, emit: (chunk: AgentChunk) => void) {
  let emittedText = ''
  let speaker: string | undefined
  return {
    accept(text: string) {
      if (speaker !== navigation.active) emit({ speaker: navigation.active })
      speaker = navigation.active
      emittedText += text
      emit(text)
    },
    readRemainingText: (answer: string) =>
      emittedText !== '' && answer.startsWith(emittedText) ? answer.slice(emittedText.length) : answer,
    end(remainingText: string) {
      const parts = [{ kind: 'text', mime: 'text/markdown', content: remainingText } as const]
      emit({ ...((remainingText !== '' || emittedText === '') && { parts }), speaker: navigation.active })
    },
  }
}

/** Removes the name of a file if a policy forbids it, because a name is text, too. */
function withoutForbiddenName(file: AnswerFile, { policies }: SwarmAgentDeps['config']): AnswerFile {
  const { name, ...otherMembers } = file
  const isAllowed = Object.values(policies).every(({ refuse_output }) => createWordCheck(refuse_output)(name ?? ''))
  return isAllowed ? file : otherMembers
}

interface SwarmTurn {
  readonly client: SwarmClient
  readonly turn: SpecTurn & { readonly isWaiting: boolean; readonly refusal: string | undefined }
  readonly transcript: TranscriptStore
  /** True if the store records messages and actions. */
  readonly isBound: boolean
}

async function openTurn(agentDeps: SwarmAgentDeps, receivedMessage: ReceivedMessage): Promise<SwarmTurn> {
  const { name, stores, system } = agentDeps
  const { message, context } = receivedMessage
  const { log, thread } = context
  const owner = `agent:${name}`
  const clientId = String(thread ?? message.thread_id)
  const key = await stores.transcript.openThread(owner, { transport: 'swarm', key: clientId })
  const isBound = thread !== undefined && (await stores.transcript.bindStore(key, thread))
  const turnState = await openTurnState(context.state, agentDeps.config.data_limits.conversation_bytes)
  const turn = createSpecTurn(agentDeps, receivedMessage, { turnState, clientId, findClient: () => client })
  const transcript = isBound ? createTurnTranscript(stores.transcript, message) : stores.transcript
  const deps = {
    transcript,
    records: createTurnRecords(stores.records, {
      turnState,
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
  readonly turnState: SpecTurn['turnState']
  readonly clientId: string
  /** Finds the client of the turn, which is opened after the turn is built. */
  findClient(): SwarmClient
}

/** Creates the turn in the form that the members of the swarm use. */
function createSpecTurn(
  agentDeps: SwarmAgentDeps,
  receivedMessage: ReceivedMessage,
  deps: SpecTurnDeps,
): SwarmTurn['turn'] {
  const { message, context, emit } = receivedMessage
  const { turnState, clientId, findClient } = deps
  let calls = 0
  const turn: SpecTurn & { isWaiting: boolean; refusal: string | undefined } = {
    context: { ...context, message, state: turnState.toolState, swarm: createToolSwarm(findClient) },
    received: { message, flags: context.flags ?? [], delimiter: agentDeps.delimiterOf(message, context) },
    readImages: lazy(() => readImages(message, context)),
    endsAt: agentDeps.system.now() + agentDeps.timeoutMs,
    checksMarkup: agentDeps.config.rescue_checks.includes('markup'),
    approvals: agentDeps.approvals,
    argumentErrors: new Map(),
    turnState,
    emit,
    emitFiles(outcome) {
      const files = filesOf(outcome).map(file => withoutForbiddenName(file, agentDeps.config))
      if (files.length > 0) emit({ parts: files })
    },
    createCallId() {
      calls += 1
      return `call-${context.responseId}-${calls}`
    },
    showState() {
      const { activeAgent, navigationStack } = readSwarmState(findClient().navigation)
      emit({ chat_state: { activeAgent, navigationStack: [...navigationStack] } })
    },
    findRefusal: text => findClient().bans.checkMessage('output', text, clientId),
    isWaiting: false,
    endWithQuestion() {
      turn.isWaiting = true
    },
    refusal: undefined,
    refuse(text) {
      turn.refusal = text
      return text
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
    runStateless: text => findClient().runStateless(text),
  }
}
