// Sends messages to several gateways, and checks their answers.
import { setTimeout as delay } from 'node:timers/promises'
import type { MessageSummary } from '@postern/pipeline'
import { expect, onTestFinished } from 'vitest'
import { eventually } from '../setup/gateway.ts'
import type { ClientMessage, PairAnswer, PairedGateway } from './pair.ts'
import { runSql } from './run-sql.ts'

/** The longest wait, longer than any pause of a gateway: a message that was sent just before a pause is answered only after it. */
const longestMs = 180_000

/** Sends a message to the gateways in turn until one acknowledges it. */
export async function sendUntilAcknowledged(
  gateways: readonly PairedGateway[],
  message: ClientMessage,
): Promise<PairAnswer> {
  let index = 0
  return eventually(async () => {
    index += 1
    const answer = await gateways[index % gateways.length]?.send(message).catch(() => undefined)
    return answer?.status === 200 && answer
  }, longestMs)
}

async function listMessages(gateway: PairedGateway): Promise<readonly MessageSummary[]> {
  const pages: MessageSummary[] = []
  let after = ''
  for (;;) {
    const { items: messages } = await gateway.ask<{ items: MessageSummary[] }>(`/messages?limit=500${after}`)
    pages.push(...messages)
    const lastMessage = messages.at(-1)
    if (!lastMessage || messages.length < 500) return pages
    after = `&after=${lastMessage.message}`
  }
}

export function untilAllAnswered(
  gateway: PairedGateway,
  count: number,
  timeoutMs = 100_000,
): Promise<readonly MessageSummary[]> {
  return eventually(async () => {
    const messages = await listMessages(gateway)
    const isDone = messages.length === count && messages.every(({ state }) => state === 'answered')
    return isDone && messages
  }, timeoutMs)
}

interface MessageLoad {
  readonly acknowledged: readonly string[]
  /** Resolves once so many more messages are acknowledged. */
  waitForAnswers(count: number): Promise<void>
  /** Sends fewer messages while `work` runs, so that a gateway that starts on a busy machine gets its share of the processor. */
  slowDuring(work: () => Promise<unknown>): Promise<void>
  /** Stops sending. */
  end(): Promise<void>
}

/** The pause of each client between two messages of a slow load, ms. */
const slowPauseMs = 100

/** Starts eight clients that send to the gateways in turn, each in conversations of ten messages, and retry refused messages. */
export function startLoad(gateways: readonly PairedGateway[], name = 'm'): MessageLoad {
  const acknowledged: string[] = []
  let isOver = false
  let isSlow = false

  async function sendOn(sender: number): Promise<void> {
    for (let number = 1; !isOver; number += 1) {
      const id = `${name}${sender}-${number}`
      const context = `${name}${sender}-${Math.ceil(number / 10)}`
      const message = { id, text: id, context, isDetached: number % 3 > 0 }
      const first = await gateways[number % gateways.length]?.send(message).catch(() => undefined)
      if (first?.status !== 200) await sendUntilAcknowledged(gateways, message)
      acknowledged.push(id)
      if (isSlow) await delay(slowPauseMs)
    }
  }

  const senders = Array.from({ length: 8 }, (_, sender) => sendOn(sender))
  // A test that fails earlier leaves senders that call closed gateways: their errors would hide its own.
  onTestFinished(() => {
    isOver = true
  })
  for (const sender of senders) sender.catch(() => {})
  return {
    acknowledged,
    async waitForAnswers(count) {
      const acknowledgedBefore = acknowledged.length
      await eventually(async () => acknowledged.length > acknowledgedBefore + count, 150_000)
    },
    async slowDuring(work) {
      isSlow = true
      await work()
      isSlow = false
    },
    async end() {
      isOver = true
      await Promise.all(senders)
    },
  }
}

/** Counts messages and answers that precede an earlier one of their conversation. */
const disordered = `SELECT count(*) FROM (
  SELECT seq, lag(seq) OVER (PARTITION BY thread_id ORDER BY answers) AS earlier FROM postern.messages WHERE kind = 'response'
  UNION ALL
  SELECT seq, lag(seq) OVER (PARTITION BY thread_id ORDER BY split_part(native_id, '-', 2)::int)
  FROM postern.messages WHERE kind = 'message') AS said WHERE seq < earlier`

/** Ends the loads, and checks that every acknowledged message is answered, once, and in the order of its conversation. */
export async function checkAnswers(loads: readonly MessageLoad[], gateway: PairedGateway, url: string): Promise<void> {
  await Promise.all(loads.map(load => load.end()))
  const acknowledged = loads.flatMap(load => load.acknowledged)
  const messages = await untilAllAnswered(gateway, acknowledged.length)
  expect(messages.map(({ id }) => id).toSorted()).toEqual(acknowledged.toSorted())
  const text = await runSql(
    url,
    "SELECT count(*), count(DISTINCT answers) FROM postern.messages WHERE kind = 'response'",
  )
  expect(text).toBe(`${acknowledged.length}|${acknowledged.length}`)
  expect(await runSql(url, disordered)).toBe('0')
}
