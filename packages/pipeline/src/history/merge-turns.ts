// Merges neighbouring turns of one role into one.

import type { HistoricalMessage, HistoricalSender } from '@postern/message'
import { createSpeakerLine } from './speaker-names.ts'

export type Turns = readonly HistoricalMessage[]

/** The single messages of merged turns. They are not part of the turn, because agents get the conversation by turns. */
const messagesByTurn = new WeakMap<HistoricalMessage, Turns>()

/** Returns the messages that a turn of the history consists of, without the lines that name their writers. */
export function listMessagesOfTurn(turn: HistoricalMessage): Turns {
  return messagesByTurn.get(turn) ?? [turn]
}

/** Changes the parts of a turn, which still consists of the same messages. */
export function replaceParts(turn: HistoricalMessage, parts: HistoricalMessage['parts']): HistoricalMessage {
  const newTurn = { ...turn, parts }
  const messages = messagesByTurn.get(turn)
  if (messages) messagesByTurn.set(newTurn, messages)
  return newTurn
}

/** Merges neighbouring turns of one role, so that the roles alternate. */
export function mergeNeighbours(turns: Turns): Turns {
  const mergedTurns: HistoricalMessage[] = []
  let lastWriter: HistoricalSender | undefined
  for (const turn of turns) {
    const lastTurn = mergedTurns.at(-1)
    if (lastTurn?.role === turn.role) {
      const joinedTurn = joinTurns(lastTurn, turn, lastWriter)
      messagesByTurn.set(joinedTurn, [...listMessagesOfTurn(lastTurn), turn])
      mergedTurns[mergedTurns.length - 1] = joinedTurn
    } else mergedTurns.push(turn)
    lastWriter = turn.sender
  }
  return mergedTurns
}

/**
 * Appends a turn to the previous one. `speaker` wrote last. The same address with different proof is a different writer, so that a forged name
 * never mixes with proven words.
 */
function joinTurns(
  turn: HistoricalMessage,
  { sender, parts }: HistoricalMessage,
  lastWriter: HistoricalSender | undefined,
): HistoricalMessage {
  if (isSameWriter(sender, lastWriter)) return { ...turn, parts: [...turn.parts, ...parts] }
  const writers = [...(turn.writers ?? [turn.sender]), sender]
  return {
    ...turn,
    sender: weakenProof(turn.sender, writers),
    writers,
    parts: [...turn.parts, createSpeakerLine(sender.address), ...parts],
  }
}

function isSameWriter(sender: HistoricalSender, lastWriter: HistoricalSender | undefined): boolean {
  const { address, verified, auth_method } = lastWriter ?? {}
  return address === sender.address && verified === sender.verified && auth_method === sender.auth_method
}

/** Returns the first writer as the sender of the turn; as unverified if only some of the writers are verified. */
function weakenProof(firstWriter: HistoricalSender, writers: readonly HistoricalSender[]): HistoricalSender {
  if (writers.every(({ verified }) => verified === firstWriter.verified)) return firstWriter
  const { address, display_name } = firstWriter
  return { address, ...(display_name !== undefined && { display_name }), verified: false, auth_method: 'none' }
}
