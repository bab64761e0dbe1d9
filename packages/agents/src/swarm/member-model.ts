import type { AgentContext, Json } from '@postern/core'
import type { SwarmModel, SwarmToolCall } from '@postern/transcript'
import { openCompletion } from '../openai/completion.ts'
import type { OpenedModel } from '../openai/model-door.ts'
import type { Round } from '../openai/round.ts'
import { readRound } from '../openai/round.ts'
import type { Heard } from './chat-messages.ts'
import { toChatMessages } from './chat-messages.ts'

export interface ModelTurn {
  readonly context: Pick<AgentContext, 'signal' | 'responseId'>
  readonly heard: Heard
  /** For all that is asked in the turn, ms since the epoch. */
  readonly endsAt: number
  /** Names a call: its id is one in the whole conversation, whatever the model counts from. */
  nameCall(): string
  /** The answer is that there is none; gives back the words. */
  refuse(words: string): string
  /** Arguments that were no JSON object. */
  readonly faults: Map<string, string>
}

/** Most characters of a model's own words about why it does not answer. */
const maxReason = 2_000
const refused = 'This will not be answered.'

/** The model of one member, for one turn. Its words are heard when they are whole: whether anybody should hear them is looked at first. */
export function createMemberModel({ door, settings }: OpenedModel, turn: ModelTurn): SwarmModel {
  const { context, heard, endsAt } = turn
  return {
    async complete(rows, tools) {
      const functions = tools.map(description => ({ type: 'function', function: description }))
      const body = {
        ...settings,
        messages: toChatMessages(rows, heard),
        ...(functions.length > 0 && { tools: functions, tool_choice: 'auto' }),
      }
      const time = { signal: context.signal, timeoutMs: Math.max(1, endsAt - door.world.now()) }
      const round = await readWhole(readRound(openCompletion(body, door, time)))
      if (round.finish === 'length' && round.calls.length > 0)
        throw new Error('The model was cut off while it called a tool')
      const isRefused = round.refusal.trim() !== '' || round.finish === 'content_filter'
      if (isRefused) return { content: turn.refuse(round.refusal.trim().slice(0, maxReason) || refused) }
      return { content: round.text, tool_calls: round.calls.map(call => readCall(call, turn)) }
    },
  }
}

async function readWhole(pieces: AsyncGenerator<string, Round, undefined>): Promise<Round> {
  for (;;) {
    const { done, value } = await pieces.next()
    if (done) return value
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
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as { readonly [name: string]: Json })
      : undefined
  } catch {
    return undefined
  }
}
