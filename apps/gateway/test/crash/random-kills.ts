// Kills a gateway at random moments while peers of three protocols send to it.
import type { Simulation } from '@postern/simulation'
import { describeSendRequest, readSendResult } from '@postern/simulation'
import { expect, onTestFinished } from 'vitest'
import { eventually, gatewayOrigin, operatorToken } from '../setup/gateway.ts'
import type { GatewayProcess } from '../setup/gateway-process.ts'
import { openKilledGateway } from '../setup/killed-gateway.ts'

interface KillCounts {
  /** The number of messages of each protocol. */
  readonly messages: number
  readonly fewestKills: number
}

/** A sender by one protocol. */
interface Peer {
  /** Sends the message of this name, repeatedly if necessary, and resolves once it is acknowledged. */
  send(name: string): Promise<void>
  /** Counts the different answers to this message that the peer has. */
  countAnswers(name: string): Promise<number>
}

type Peers = Readonly<Record<string, Peer>>

const textOf = (name: string) => `crash ${name} end`

const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

/** Repeats an attempt with the same id until it is acknowledged, as peers do. */
async function untilAcknowledged(attempt: () => Promise<boolean>): Promise<void> {
  await eventually(() => attempt().catch(() => false), 300_000)
}

function createFediversePeer({ fediverse }: Simulation): Peer {
  return {
    send: name =>
      untilAcknowledged(async () => {
        const id = `https://mastodon.test/users/alice/statuses/${name}`
        const post = { to: '@echo@agents.test', text: textOf(name), id, visibility: 'direct' } as const
        return (await fediverse.deliver(post)).status === 202
      }),
    async countAnswers(name) {
      const answers = fediverse.received.filter(
        ({ activity, verified }) => verified && JSON.stringify(activity).includes(textOf(name)),
      )
      return new Set(answers.map(({ activity }) => activity.id)).size
    },
  }
}

function createMailPeer({ mail }: Simulation): Peer {
  const mails = new Map<string, ReturnType<typeof mail.compose>>()
  return {
    send: name =>
      untilAcknowledged(async () => {
        const pendingMail = mails.get(name) ?? mail.compose({ to: 'echo@agents.test', text: textOf(name) })
        mails.set(name, pendingMail)
        return (await mail.sendSmtp(await pendingMail)).code === 250
      }),
    async countAnswers(name) {
      const answers = mail.received.filter(({ text }) => text?.includes(textOf(name)))
      return new Set(answers.map(({ messageId }) => messageId)).size
    },
  }
}

function createA2aPeer({ a2a }: Simulation): Peer {
  const tasks = new Map<string, string>()
  const openClient = async () =>
    a2a.client(`${gatewayOrigin}/agents/echo/.well-known/agent-card.json`, await a2a.token())

  /** Reads the answer of a task. A call that has waited for the lease of a dead process gets its task before the answer. */
  async function readTask(id: string): Promise<string> {
    return readSendResult(await (await openClient()).getTask({ tenant: '', id, historyLength: undefined })).text
  }

  return {
    send: name =>
      untilAcknowledged(async () => {
        const result = await (await openClient()).sendMessage(describeSendRequest(textOf(name), { messageId: name }))
        const { taskId, text } = readSendResult(result) as { taskId?: string; text: string }
        if (taskId) tasks.set(`${name} ${taskId}`, text)
        return true
      }),
    async countAnswers(name) {
      const ownTasks = [...tasks].filter(([key]) => key.startsWith(`${name} `))
      const texts = await Promise.all(ownTasks.map(([key, text]) => text || readTask(key.slice(name.length + 1))))
      return texts.filter(text => text.includes(textOf(name))).length
    },
  }
}

/** Kills a gateway at random moments until at least `messages` of each protocol are acknowledged, and checks that each is answered once. */
export async function checkRandomKills(counts: KillCounts): Promise<void> {
  const { simulation, gateway, url, close } = await openKilledGateway()
  onTestFinished(close)
  const peers: Peers = {
    activitypub: createFediversePeer(simulation),
    email: createMailPeer(simulation),
    a2a: createA2aPeer(simulation),
  }
  const killer = startKilling(gateway)
  const sentNames = await sendAll(peers, counts, killer.countKills)
  await killer.stop()
  expect(killer.countKills()).toBeGreaterThanOrEqual(counts.fewestKills)
  await checkAnswers(peers, sentNames)
  const states = await listStates(url)
  expect(states).toHaveLength(sentNames.length)
  expect(states.every(state => state === 'answered')).toBe(true)
}

/** Kills and restarts a gateway until it is stopped. */
function startKilling(gateway: GatewayProcess) {
  let kills = 0
  let isOver = false
  // The current slowness of the machine: a machine that starts slowly is slow at everything, and gets that much more time between kills.
  let pace = 1
  const killing = (async () => {
    while (!isOver) {
      // The kills range from "before anything works" to "in the middle of everything": mail needs a second after a cold start.
      await pause(100 + Math.random() ** 2 * 3_000 * pace)
      await gateway.kill()
      const began = performance.now()
      await gateway.start()
      pace = Math.max(1, (performance.now() - began) / 1_500)
      kills += 1
    }
  })()
  return {
    countKills: () => kills,
    async stop() {
      isOver = true
      await killing
    },
  }
}

/** Sends messages by all peers, and returns their names. A fast machine that sends all of them before enough kills have happened sends more. */
async function sendAll(
  peers: Peers,
  { messages, fewestKills }: KillCounts,
  countKills: () => number,
): Promise<readonly string[]> {
  const sentNames: string[] = []
  const sendings = Object.entries(peers).map(async ([via, { send }]) => {
    let count = 0
    const nextName = () => {
      if (count >= messages && countKills() >= fewestKills) return undefined
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
  return sentNames
}

async function checkAnswers(peers: Peers, sentNames: readonly string[]): Promise<void> {
  for (const [via, { countAnswers }] of Object.entries(peers)) {
    for (const name of sentNames.filter(messageName => messageName.startsWith(`${via}-`))) {
      const answers = await eventually(async () => (await countAnswers(name)) || false, 120_000).catch(() => 'none')
      expect(`${name}: ${answers}`).toBe(`${name}: 1`)
    }
  }
}

async function listStates(url: string): Promise<readonly string[]> {
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
