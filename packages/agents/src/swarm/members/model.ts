import type { AgentChunk, AgentContext, Json } from '@postern/core'
import { isJsonObject, parseJsonText } from '@postern/core'
import type { ModelAnswer, SwarmModel, ToolDescription } from '@postern/swarm'
import type { SwarmToolCall } from '@postern/transcript'
import { openCompletion } from '../../completion/completion.ts'
import type { OpenedModel } from '../../openai/model-endpoint.ts'
import type { ImagePiece } from '../../prompt/images.ts'
import type { ChatMessage } from '../../prompt/messages.ts'
import type { Round } from '../../rounds/round.ts'
import { bookUsage, readRound } from '../../rounds/round.ts'
import type { Heard } from './chat-messages.ts'
import { toChatMessages, toPlainMessages } from './chat-messages.ts'

/** A model, and whether it sees pictures. */
export interface MemberModel extends OpenedModel {
  readonly seesImages: boolean
}

export interface ModelTurn {
  readonly context: Pick<AgentContext, 'signal' | 'responseId'>
  readonly heard: Pick<Heard, 'message' | 'flags'>
  /** The pictures of the message; read once. */
  readImages(): Promise<readonly ImagePiece[]>
  /** For all model requests in the turn, ms since the epoch. */
  readonly endsAt: number
  /** Names a call. Its id is unique in the whole conversation, whatever the model's numbering. */
  nameCall(): string
  /** Records a refusal as the answer and returns its text. */
  refuse(words: string): string
  /** Arguments that were no JSON object. */
  readonly faults: Map<string, string>
  /** Notifies listeners. The store keeps it with the answer. */
  tell(chunk: AgentChunk): void
}

/** Most characters of a model's own reason for not answering. */
const maxReason = 2_000
const refused = 'This will not be answered.'

/** The model of one member in one turn. Its text is sent in pieces, and the swarm decides which of them the user gets. */
export function createMemberModel({ endpoint, settings, seesImages }: MemberModel, turn: ModelTurn): SwarmModel {
  const { context, heard, endsAt } = turn

  async function ask(
    messages: readonly ChatMessage[],
    tools: readonly ToolDescription[],
    hear: (piece: string) => void = () => {},
  ): Promise<Round> {
    const functions = tools.map(description => ({ type: 'function', function: description }))
    const body = { ...settings, messages, ...(functions.length > 0 && { tools: functions, tool_choice: 'auto' }) }
    const time = { signal: context.signal, timeoutMs: Math.max(1, endsAt - endpoint.platform.now()) }
    const round = await readWhole(readRound(openCompletion(body, endpoint, time)), hear)
    for (const spent of bookUsage(round, endpoint)) turn.tell(spent)
    if (round.finish === 'length' && round.calls.length > 0)
      throw new Error('The model was cut off while it called a tool')
    return round
  }

  function answer(round: Round): ModelAnswer {
    const isRefused = round.refusal.trim() !== '' || round.finish === 'content_filter'
    if (isRefused) return { content: turn.refuse(round.refusal.trim().slice(0, maxReason) || refused) }
    const isCutOff = round.finish === 'length' && round.text.trim() !== ''
    const tool_calls = round.calls.map(call => readCall(call, turn))
    return { content: isCutOff ? `${round.text} […]` : round.text, tool_calls }
  }

  return {
    async complete(rows, tools, hear) {
      const images = seesImages ? await turn.readImages() : []
      return answer(await ask(toChatMessages(rows, { ...heard, images }), tools, hear))
    },
    async run(rows) {
      const { text, refusal } = await ask(toPlainMessages(rows), [])
      return { content: text || refusal }
    },
  }
}

async function readWhole(
  pieces: AsyncGenerator<string, Round, undefined>,
  hear: (piece: string) => void,
): Promise<Round> {
  for (;;) {
    const { done, value } = await pieces.next()
    if (done) return value
    hear(value)
  }
}

function readCall({ name, args }: Round['calls'][number], { nameCall, faults }: ModelTurn): SwarmToolCall {
  const id = nameCall()
  const read = readArguments(args)
  if (!read) faults.set(id, 'The arguments are not a JSON object.')
  return { id, type: 'function', function: { name, arguments: read ?? {} } }
}

function readArguments(text: string): { readonly [name: string]: Json } | undefined {
  if (text.trim() === '') return {}
  try {
    const value: unknown = parseJsonText(text)
    return isJsonObject(value) ? (value as { readonly [name: string]: Json }) : undefined
  } catch {
    return undefined
  }
}
