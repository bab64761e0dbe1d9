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
  /** Sends the message of this name, repeatedly if necessary, and resolves once it is acknowledged. */
  send(name: string): Promise<void>
  /** Counts the different answers to this message that the peer has. */
  countAnswers(name: string): Promise<number>
}

const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

/** Repeats an attempt with the same id until it is acknowledged, as peers do. */
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
        const pendingMail = mails.get(name) ?? simulation.mail.compose({ to: 'echo@agents.test', text: wordsOf(name) })
        mails.set(name, pendingMail)
        return (await simulation.mail.sendSmtp(await pendingMail)).code === 250
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
      const ownTasks = [...tasks].filter(([key]) => key.startsWith(`${name} `))
      const texts = await Promise.all(ownTasks.map(([key, text]) => text || readTask(key.slice(name.length + 1))))
      return texts.filter(text => text.includes(wordsOf(name))).length
    },
  },
}

async function openClient() {
  return simulation.a2a.client(`${gatewayOrigin}/agents/echo/.well-known/agent-card.json`, await simulation.a2a.token())
}

/** Reads the answer of a task. A call that has waited for the lease of a dead process gets its task before the answer. */
async function readTask(id: string): Promise<string> {
  return readSendResult(await (await openClient()).getTask({ tenant: '', id, historyLength: undefined })).text
}

test('a gateway that dies at random moments loses no acknowledged message and answers none twice', {
  timeout: 1_500_000,
}, async () => {
  const fewestKills = drawCount({ quick: 2, long: 30 })
  const sentNames: string[] = []
  let kills = 0
  let isSending = true
  // The current slowness of the machine: a machine that starts slowly is slow at everything, and gets that much more time between kills.
  let pace = 1
  const killer = (async () => {
    while (isSending) {
      // The kills range from "before anything works" to "in the middle of everything": mail needs a second after a cold start.
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
    // A fast machine that sends everything before enough kills have happened sends more messages.
    const nextName = () => {
      if (count >= perProtocol && kills >= fewestKills) return undefined
      count += 1
      return `${via}-${count}`
    }
    // A few messages are sent at a time, as peers do, so that kills meet messages in every stage.
    const workers = Array.from({ length: 4 }, async () => {
      for (let name = nextName(); name; name = nextName()) {
        sentNames.push(name)
        await send(name)
        await pause(Math.random() * 600)
      }
    })
    await Promise.all(workers)
  })
  await Promise.all(sendings)
  isSending = false
  await killer
  expect(kills).toBeGreaterThanOrEqual(fewestKills)

  for (const [via, { countAnswers }] of Object.entries(peers)) {
    for (const name of sentNames.filter(messageName => messageName.startsWith(`${via}-`))) {
      const answers = await eventually(async () => (await countAnswers(name)) || false, 120_000).catch(() => 'none')
      expect(`${name}: ${answers}`).toBe(`${name}: 1`)
    }
  }

  const states = await listStates()
  expect(states).toHaveLength(sentNames.length)
  expect(states.every(state => state === 'answered')).toBe(true)
})

async function listStates(): Promise<readonly string[]> {
  const states: string[] = []
  for (let cursor = ''; ; ) {
    const path = `/operator/api/messages?limit=500${cursor}`
    const response = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${operatorToken}` } })
    const { items } = (await response.json()) as { items: { state: string; message: string }[] }
    states.push(...items.map(({ state }) => state))
    const lastItem = items.at(-1)
    if (!lastItem || items.length < 500) return states
    cursor = `&after=${lastItem.message}`
  }
}
