import type { Simulation } from '@postern/simulation'
import { describeSendRequest, readSendResult } from '@postern/simulation'
import { drawCount } from '@postern/testing/scale'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually, gatewayOrigin, operatorToken } from '../setup/gateway.ts'
import type { GatewayProcess } from '../setup/gateway-process.ts'
import type { KilledGateway } from '../setup/killed-gateway.ts'
import { openKilledGateway } from '../setup/killed-gateway.ts'

const perProtocol = drawCount({ quick: 9, long: 670 })
const wordsOf = (name: string) => `crash ${name} end`

let setup: KilledGateway
let simulation: Simulation
let gateway: GatewayProcess
let url: string

beforeAll(async () => {
  setup = await openKilledGateway()
  ;({ simulation, gateway, url } = setup)
})
afterAll(() => setup.close())

interface Peer {
  /** Sends the message of this name, again if need be; resolves once it is acknowledged. */
  send(name: string): Promise<void>
  /** How many different answers to this message the peer holds. */
  countAnswers(name: string): Promise<number>
}

const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

/** A peer does what peers do: an attempt that was not acknowledged is made again, with the same id. */
async function untilAcknowledged(attempt: () => Promise<boolean>): Promise<void> {
  await eventually(() => attempt().catch(() => false), 300_000)
}

const mails = new Map<string, Promise<Awaited<ReturnType<Simulation['mail']['compose']>>>>()
const tasks = new Map<string, string>()

const peers: Record<string, Peer> = {
  activitypub: {
    send: name =>
      untilAcknowledged(async () => {
        const id = `https://mastodon.test/users/alice/statuses/${name}`
        const { status } = await simulation.fediverse.deliver({
          to: '@echo@agents.test',
          text: wordsOf(name),
          id,
          visibility: 'direct',
        })
        return status === 202
      }),
    async countAnswers(name) {
      const answers = simulation.fediverse.received.filter(
        ({ activity, verified }) => verified && JSON.stringify(activity).includes(wordsOf(name)),
      )
      return new Set(answers.map(({ activity }) => activity.id)).size
    },
  },
  email: {
    send: name =>
      untilAcknowledged(async () => {
        const composed = mails.get(name) ?? simulation.mail.compose({ to: 'echo@agents.test', text: wordsOf(name) })
        mails.set(name, composed)
        return (await simulation.mail.sendSmtp(await composed)).code === 250
      }),
    async countAnswers(name) {
      const answers = simulation.mail.received.filter(({ text }) => text?.includes(wordsOf(name)))
      return new Set(answers.map(({ messageId }) => messageId)).size
    },
  },
  a2a: {
    send: name =>
      untilAcknowledged(async () => {
        const result = await (await openClient()).sendMessage(describeSendRequest(wordsOf(name), { messageId: name }))
        const { taskId, text } = readSendResult(result) as { taskId?: string; text: string }
        if (taskId) tasks.set(`${name} ${taskId}`, text)
        return true
      }),
    async countAnswers(name) {
      return [...tasks].filter(([key, text]) => key.startsWith(`${name} `) && text.includes(wordsOf(name))).length
    },
  },
}

async function openClient() {
  return simulation.a2a.client(`${gatewayOrigin}/agents/echo/.well-known/agent-card.json`, await simulation.a2a.token())
}

test('a gateway that dies at random moments loses no acknowledged message and answers none twice', {
  timeout: 900_000,
}, async () => {
  const fewestKills = drawCount({ quick: 2, long: 30 })
  const sent: string[] = []
  let kills = 0
  let isSending = true
  // How slow the machine is now: one that takes long to start needs long to do anything, and is left alone for so much longer.
  let pace = 1
  const killer = (async () => {
    while (isSending) {
      // From "before anything works" to "in the middle of everything": mail needs a second after a cold start.
      await pause(100 + Math.random() ** 2 * 3_000 * pace)
      await gateway.kill()
      const began = performance.now()
      await gateway.start()
      pace = Math.max(1, (performance.now() - began) / 1_500)
      kills += 1
    }
  })()
  const sendings = Object.entries(peers).map(async ([via, { send }]) => {
    let count = 0
    // A fast machine sends everything before enough kills have come: it sends more.
    const nextName = () => {
      if (count >= perProtocol && kills >= fewestKills) return undefined
      count += 1
      return `${via}-${count}`
    }
    // A few at a time, as peers do, so that kills meet messages in every stage.
    const workers = Array.from({ length: 4 }, async () => {
      for (let name = nextName(); name; name = nextName()) {
        sent.push(name)
        await send(name)
        await pause(Math.random() * 600 * pace)
      }
    })
    await Promise.all(workers)
  })
  await Promise.all(sendings)
  isSending = false
  await killer
  expect(kills).toBeGreaterThanOrEqual(fewestKills)

  for (const [via, { countAnswers }] of Object.entries(peers)) {
    for (const name of sent.filter(each => each.startsWith(`${via}-`))) {
      const answers = await eventually(async () => (await countAnswers(name)) || false, 120_000)
      expect(`${name}: ${answers}`).toBe(`${name}: 1`)
    }
  }

  const states = await listStates()
  expect(states).toHaveLength(sent.length)
  expect(states.every(state => state === 'answered')).toBe(true)
})

async function listStates(): Promise<readonly string[]> {
  const states: string[] = []
  for (let after = ''; ; ) {
    const path = `/operator/api/messages?limit=500${after}`
    const answer = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${operatorToken}` } })
    const { items } = (await answer.json()) as { items: { state: string; message: string }[] }
    states.push(...items.map(({ state }) => state))
    const last = items.at(-1)
    if (!last || items.length < 500) return states
    after = `&after=${last.message}`
  }
}
