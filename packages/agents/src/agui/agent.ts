// Runs an agent at an AG-UI server and turns the events of each run into an answer.

import { formatStatus, parseMediaType } from '@postern/http'
import type { Json, NormalizedMessage, OpenStream, StreamAnswer } from '@postern/message'
import { Unavailable } from '@postern/message'
import type { Agent, AgentChunk, AgentContext } from '@postern/pipeline'
import { findStepRecorder, isAnswerSentWhole, taskCanceledFlag } from '@postern/pipeline'
import type { z } from 'zod'
import { readEventData } from '../completion/event-data.ts'
import { setPersonState } from '../kind/person-data.ts'
import { throwIfTransient } from '../kind/transient-status.ts'
import type { ReasoningHabit } from '../speech/reasoning-habit.ts'
import { pickChatState } from './chat-state.ts'
import type { aguiAgentSchema } from './config.ts'
import type { OpenInterrupt } from './interrupts/open-interrupts.ts'
import {
  answerInterrupts,
  assignInterrupts,
  cancelInterrupts,
  createQuestionChunk,
  findUnanswered,
  isDecision,
  mayAnswer,
  restoreInterrupts,
} from './interrupts/open-interrupts.ts'
import { RunProgress, readEvent } from './run/events.ts'
import { describeRunContext } from './run-context.ts'
import type { RunRequest, StoredRunState } from './run-input.ts'
import { renderMessageText, renderRunInput } from './run-input.ts'

/** The maximum size of one run's events, bytes. */
const maxRunBytes = 16 * 1024 * 1024
/** The maximum length of a state that is stored for the next run, characters of its JSON. */
const maxStateChars = 128 * 1024
/** The maximum length of a message id that is stored, characters. */
const maxIdChars = 256

interface AguiServer {
  readonly agent: string
  readonly config: z.output<typeof aguiAgentSchema>
  readonly reasoningHabit: ReasoningHabit
  /** The timeout for the beginning of an answer and for each pause in it, ms. */
  readonly timeoutMs: number
  readonly openStream: OpenStream
  now(): number
}

/** Creates an agent that runs at an AG-UI server. */
export function createAguiAgent(server: AguiServer): Agent {
  return { handle: (message, context) => handleMessage(server, message, context) }
}

async function* handleMessage(
  server: AguiServer,
  message: NormalizedMessage,
  context: AgentContext,
): AsyncGenerator<AgentChunk, void, undefined> {
  const storedRun = ((await context.state.get()) ?? {}) as StoredRunState
  const openInterrupts = restoreInterrupts(storedRun.interrupts)
  if (context.flags?.includes(taskCanceledFlag))
    return yield* cancelTask(message, openInterrupts, { server, context, storedRun })
  const answeredInterrupts = answerInterrupts(openInterrupts, message, renderMessageText(message), context.person)
  const nextInterrupt = answeredInterrupts && findUnanswered(answeredInterrupts)
  if (!answeredInterrupts && message.kind === 'cancel') return
  if (!answeredInterrupts && isDecision(message)) yield 'The agent does not wait for this any more.'
  else if (nextInterrupt) yield askNextQuestion(nextInterrupt, answeredInterrupts, { server, context, storedRun })
  else if (answeredInterrupts) yield* resumeRun(message, answeredInterrupts, { server, context, storedRun })
  else yield* runAgent(message, [], { server, context, storedRun })
}

interface Conversation {
  readonly server: AguiServer
  readonly context: AgentContext
  readonly storedRun: StoredRunState
  /** True if the task is canceled, so that nobody can answer a further question. */
  readonly isCanceled?: boolean
}

/** Resumes a run whose task is canceled. Another task of the conversation may have asked in the meantime, and its questions stay open. */
async function* cancelTask(
  message: NormalizedMessage,
  openInterrupts: readonly OpenInterrupt[],
  conversation: Conversation,
): AsyncGenerator<AgentChunk, void, undefined> {
  const { question = message.in_reply_to } = conversation.storedRun
  if (openInterrupts.length === 0 || question !== message.in_reply_to) return
  yield* resumeRun(message, cancelInterrupts(openInterrupts), { ...conversation, isCanceled: true })
}

/** Asks the person the next question. The server gets all answers together. */
function askNextQuestion(
  nextInterrupt: OpenInterrupt,
  interrupts: readonly OpenInterrupt[],
  { server, context, storedRun }: Conversation,
): AgentChunk {
  context.state.set({ ...storedRun, interrupts, question: context.responseId } as unknown as Json)
  return createQuestionChunk(nextInterrupt, context, { now: server.now() })
}

/** Resumes a run with the answers. LangGraph may fail at the same answer every time, so its question is repeated only once. */
async function* resumeRun(
  message: NormalizedMessage,
  answeredInterrupts: readonly OpenInterrupt[],
  conversation: Conversation,
): AsyncGenerator<AgentChunk, void, undefined> {
  const { server, context, storedRun, isCanceled = false } = conversation
  try {
    yield* runAgent(message, answeredInterrupts, conversation)
  } catch (error) {
    if (error instanceof Unavailable || context.signal.aborted) throw error
    context.log.warn({ err: error }, 'an AG-UI server failed at the answer to its question')
    const { interrupts: _, question: _asked, hasAskedAgain, ...otherMembers } = storedRun
    const mustNotRepeat =
      isCanceled || hasAskedAgain || answeredInterrupts.some(({ answer }) => answer?.status === 'cancelled')
    const [firstInterrupt, ...otherInterrupts] = mustNotRepeat
      ? []
      : answeredInterrupts.map(({ answer: __, ...openInterrupt }) => openInterrupt)
    const repeatedQuestion = firstInterrupt && {
      interrupts: [firstInterrupt, ...otherInterrupts],
      question: context.responseId,
      hasAskedAgain: true,
    }
    context.state.set({ ...otherMembers, ...repeatedQuestion } as unknown as Json)
    if (firstInterrupt)
      yield createQuestionChunk(firstInterrupt, context, {
        now: server.now(),
        introduction: 'That did not work. Please answer again.',
      })
    else
      yield {
        status: 'failed',
        parts: [{ kind: 'text', mime: 'text/plain', content: 'The agent could not go on with your answer.' }],
      }
  }
}

async function* runAgent(
  message: NormalizedMessage,
  answeredInterrupts: readonly OpenInterrupt[],
  { server, context, storedRun, isCanceled = false }: Conversation,
): AsyncGenerator<AgentChunk, void, undefined> {
  const textOptions = { reasoningHabit: server.reasoningHabit, waitsForEnd: isAnswerSentWhole(context) }
  const run = new RunProgress(storedRun.state, textOptions, {
    now: server.now,
    recorder: findStepRecorder(context),
  })
  const cancellation = new AbortController()
  const signal = AbortSignal.any([context.signal, cancellation.signal])
  try {
    yield* readRun(await postRun(server, message, { context, storedRun, answeredInterrupts, signal }), run)
  } finally {
    // The body of an error response is not read.
    cancellation.abort()
  }
  if (!run.interrupts) throw new Unavailable('The AG-UI server broke off in the middle of its run')
  yield* endAnswer(run)
  yield* showState({ before: storedRun.state, after: run.state.value }, server.config)
  const messageAuthor = { sender: message.sender, person: context.person }
  const assignedInterrupts = assignInterrupts(run.interrupts, restoreInterrupts(storedRun.interrupts), messageAuthor)
  if (isCanceled && assignedInterrupts.length > 0)
    context.log.warn(
      { questions: assignedInterrupts.length },
      'an AG-UI server asks a question in a canceled task, where nobody can answer',
    )
  const interrupts = isCanceled ? [] : assignedInterrupts
  const [firstInterrupt] = interrupts
  const isAsking = firstInterrupt !== undefined && mayAnswer(firstInterrupt, messageAuthor)
  if (isAsking) yield createQuestionChunk(firstInterrupt, context, { now: server.now() })
  else if (firstInterrupt) yield 'The agent waits for the answer of somebody else in this conversation.'
  const answers = server.config.keeps_history ? undefined : (storedRun.answers ?? {})
  context.state.set({
    ...toStoredRun(run, context, answers),
    ...toStoredInterrupts(interrupts, isAsking ? context.responseId : storedRun.question),
  })
  setPersonState(run.personState, context)
}

function toStoredInterrupts(
  interrupts: readonly OpenInterrupt[],
  question: string | undefined,
): { [name: string]: Json } {
  if (interrupts.length === 0) return {}
  return { interrupts: interrupts as unknown as Json, ...(question !== undefined && { question }) }
}

interface PostedRun extends Pick<RunRequest, 'storedRun' | 'answeredInterrupts'> {
  readonly context: AgentContext
  readonly signal: AbortSignal
}

/** Posts a run and returns its events. @throws Unavailable for transient failures @throws Error for everything else */
async function postRun(
  { agent, config, openStream, timeoutMs, now }: AguiServer,
  message: NormalizedMessage,
  { context, signal, ...run }: PostedRun,
): Promise<StreamAnswer['body']> {
  const { keeps_history: keepsHistory, forwarded_props, api_key } = config
  const forwardedProps = forwarded_props as { readonly [name: string]: Json }
  const contextEntries = await describeRunContext(message, context)
  const response = await openStream(config.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'text/event-stream',
      ...(api_key !== undefined && { authorization: `Bearer ${api_key}` }),
    },
    body: JSON.stringify(
      renderRunInput({ agent, message, context, contextEntries, keepsHistory, forwardedProps, ...run }),
    ),
    signal,
    timeoutMs,
    idleMs: timeoutMs,
    maxBytes: maxRunBytes,
  })
  throwIfTransient({ serverName: 'AG-UI server', url: config.url }, response, now())
  if (response.status !== 200)
    throw new Error(`The AG-UI server answered ${formatStatus(config.url, response)}; check "url" and "api_key"`)
  const { type } = parseMediaType(response.headers.get('content-type')) ?? {}
  if (type !== 'text/event-stream') throw new Error('The AG-UI server answered with no event stream; check "url"')
  return response.body
}

async function* readRun(body: StreamAnswer['body'], run: RunProgress): AsyncGenerator<AgentChunk, void, undefined> {
  for await (const data of readEventData(body)) {
    yield* readEvent(data, run)
    if (run.interrupts) return
  }
}

/** Ends the answer. A server that streams no text sends its answer in a snapshot. */
function* endAnswer({ text, snapshot }: RunProgress): Generator<AgentChunk> {
  yield* text.endMessage()
  if (text.isEmpty && snapshot.text !== '') yield* text.addSnapshot(snapshot.text)
  if (text.withheld.length > 0) yield { withheld: text.withheld }
  // The server has begun a message that contains only blanks, which is an empty answer.
  else if (text.isEmpty && text.hasMessage) yield ''
}

/** Shows the state in the chat. An empty state makes the chat remove the state that it showed before. */
function* showState(
  { before: previousState, after: newState }: { readonly before: Json | undefined; readonly after: Json | undefined },
  { chat_state: shownState }: AguiServer['config'],
): Generator<AgentChunk> {
  const wasVisible = pickChatState(previousState, shownState) !== undefined
  const state = pickChatState(newState, shownState) ?? (wasVisible ? {} : undefined)
  if (state) yield { chat_state: state }
}

function toStoredRun(
  run: RunProgress,
  context: Pick<AgentContext, 'log' | 'history' | 'responseId'>,
  answers: StoredRunState['answers'],
): { [name: string]: Json } {
  const { value: state } = run.state
  const isSmall = state !== undefined && JSON.stringify(state).length <= maxStateChars
  if (state !== undefined && !isSmall)
    context.log.warn({ most: maxStateChars }, 'the state of an AG-UI server is too large to keep')
  const answerIds = answers && listAnswerIds(run, answers, context)
  return {
    ...(isSmall && { state }),
    ...(answerIds && answerIds.length > 0 && { answers: Object.fromEntries(answerIds) }),
  }
}

/** Lists the pairs of local id and server's id, for the answers in the history and for the new answer. */
function listAnswerIds(
  { text, snapshot: { id = text.messageId } }: RunProgress,
  storedAnswers: NonNullable<StoredRunState['answers']>,
  context: Pick<AgentContext, 'history' | 'responseId'>,
): readonly (readonly [ours: string, theirs: string])[] {
  const historyIds = new Set(context.history().turns.map(turn => turn.id))
  const presentAnswers = Object.entries(storedAnswers).filter(([localId]) => historyIds.has(localId))
  return id === undefined || id.length > maxIdChars ? presentAnswers : [...presentAnswers, [context.responseId, id]]
}
