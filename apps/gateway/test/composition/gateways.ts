// Opens several gateways in one simulation, which carries the mail between them.
import { hash, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { MessageRecord } from '@postern/pipeline'
import type { Simulation } from '@postern/simulation'
import { openSimulation } from '@postern/simulation'
import { findFreePort } from '@postern/testing/free-port'
import { parseConfig } from '../../src/config/read-config.ts'
import { publishKeys } from '../../src/dev/simulation.ts'
import type { Gateway } from '../../src/gateway.ts'
import { openGateway } from '../../src/gateway.ts'
import { createLog } from '../../src/observe/log.ts'

type Tree = Readonly<Record<string, unknown>>

export interface GatewayPlan {
  readonly agents: Tree
  readonly limits?: Tree
  readonly email?: Tree
  readonly activitypub?: Tree
  readonly web?: Tree
}

export interface Gateways {
  readonly simulation: Simulation
  /** Sends a text to an agent over A2A with an API key. Returns the texts of the answer's parts. */
  askAgent(host: string, agent: string, text: string, overrides?: object): Promise<readonly string[]>
  /** Returns everything that an agent of a gateway received or was protected from, oldest first: sender, state and flags. */
  records(host: string, agent: string): Promise<readonly MessageRecord[]>
  gatewayOf(host: string): Gateway
  url(host: string): string
  /** Returns true if mail waits to be carried to a gateway. */
  isMailUnderWay(): boolean
  close(): Promise<void>
}

const apiKey = 'the-key-of-the-tests'
const manyBytes = 1_000_000
/** Without these budgets, only the guards of `limits.loop` stop a loop. */
const noMailBudgets = Object.fromEntries(
  [
    ...['correspondent_per_hour', 'thread_per_hour', 'thread_per_day', 'rapid_per_hour', 'repeats_per_hour'],
    ...['unverified_per_day', 'unverified_per_hour', 'reply_all_per_hour'],
  ].map(name => [name, manyBytes]),
)

/** Opens several gateways on loopback, each with a domain and keys of its own, in one simulation whose post office knows them all. */
export async function openGateways(plans: Readonly<Record<string, GatewayPlan>>): Promise<Gateways> {
  const simulation = await openSimulation()
  const hosts = Object.keys(plans)
  const ports = Object.fromEntries(await Promise.all(hosts.map(async host => [host, await findFreePort()] as const)))
  const directories: string[] = []
  const gateways = new Map<string, { readonly gateway: Gateway; readonly smtp: number }>()

  function describe(host: string, { agents, limits, email, activitypub, web }: GatewayPlan) {
    const data = mkdtempSync(join(tmpdir(), 'postern-composition-'))
    directories.push(data)
    const otherHosts = hosts.filter(otherHost => otherHost !== host)
    const trust = (otherHost: string) => ({
      issuer: `https://${otherHost}`,
      jwks: `https://${otherHost}/.well-known/jwks.json`,
      audience: `https://${host}`,
    })
    // No gateway can reach itself over the network.
    const loopback = Object.fromEntries(otherHosts.map(otherHost => [otherHost, ports[otherHost]]))
    return parseConfig({
      origin: `https://${host}`,
      listen: { port: ports[host] },
      data,
      dev: true,
      operator_token: 'operator-token-of-the-tests',
      agents,
      ...(limits && { limits }),
      ...(web && { web }),
      activitypub: { bot_turns_per_hour: 100, rapid_turns_per_hour: 100, ...activitypub },
      a2a: { auth: { issuers: otherHosts.map(trust), api_keys: [{ name: 'tester', sha256: hash('sha256', apiKey) }] } },
      email: { budgets: noMailBudgets, listen: { port: 0 }, submit: simulation.mail.submit, ...email },
      delivery: { retry_after: 0.2 },
      network: { dns: simulation.network.dns, loopback: { ...simulation.network.loopback, ...loopback } },
      log: { level: 'silent' },
    })
  }

  async function open(host: string, plan: GatewayPlan): Promise<void> {
    const log = createLog({ level: 'silent', readable: false })
    const baseDir = import.meta.dirname
    const options = { baseDir, log, operatorToken: 'x'.repeat(20), shutdownGraceMs: 1_500 }
    const gateway = await openGateway(describe(host, plan), options)
    const listening = await gateway.start()
    gateways.set(host, { gateway, smtp: listening.at(-1)?.port ?? 0 })
    simulation.dns.set(host, { A: ['127.0.0.1'], MX: [{ priority: 10, exchange: host }] })
    await publishKeys(simulation, gateway)
  }

  let acceptedCount = 0
  /** Carries the mail that gateways have sent to the gateway of its domain. */
  async function bringMail(): Promise<void> {
    // A mail counts once it was carried.
    for (; acceptedCount < simulation.mail.received.length; acceptedCount += 1) {
      const {
        octets,
        envelope,
        messageId = '',
      } = simulation.mail.received[acceptedCount] as Simulation['mail']['received'][number]
      for (const to of envelope.to) {
        const port = gateways.get(to.slice(to.lastIndexOf('@') + 1))?.smtp
        const mail = {
          octets,
          messageId,
          envelope: { from: envelope.from, to: [to] },
          ip: '127.0.0.1',
          helo: 'mx.sink.test',
        }
        if (port) await simulation.mail.sendSmtp(mail, { port })
      }
    }
  }

  for (const [host, plan] of Object.entries(plans)) await open(host, plan)
  const [first = ''] = hosts
  simulation.connectGateway({
    origin: `https://${first}`,
    port: ports[first] ?? 0,
    smtpPort: gateways.get(first)?.smtp,
  })
  let underWay = Promise.resolve()
  const round = setInterval(() => {
    underWay = underWay.then(bringMail).catch(() => undefined)
  }, 20)

  const gatewayAt = (host: string) => {
    const gateway = gateways.get(host)
    if (!gateway) throw new Error(`there is no gateway ${host}`)
    return gateway.gateway
  }
  return {
    simulation,
    gatewayOf: gatewayAt,
    isMailUnderWay: () => acceptedCount < simulation.mail.received.length,
    url: host => `http://127.0.0.1:${ports[host]}`,
    async askAgent(host, agent, text, overrides = {}) {
      const message = { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...overrides }
      const response = await fetch(`http://127.0.0.1:${ports[host]}/agents/${agent}/a2a`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'a2a-version': '1.0', 'x-api-key': apiKey },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }),
      })
      const { result } = (await response.json()) as {
        readonly result: { readonly task: { readonly artifacts?: { readonly parts: { text: string }[] }[] } }
      }
      return (result.task.artifacts ?? []).flatMap(({ parts }) => parts.map(part => part.text))
    },
    async records(host, agent) {
      const { store } = gatewayAt(host)
      const list = (await store.listMessages({ limit: 500 })).filter(summary => summary.agent === agent).toReversed()
      const records = await Promise.all(list.map(({ message }) => store.findMessage(`#${message}`)))
      return records.flatMap(record => (record && !record.flags.includes('post') ? [record] : []))
    },
    async close() {
      clearInterval(round)
      await underWay
      await Promise.all([...gateways.values()].map(({ gateway }) => gateway.stop()))
      await simulation.close()
      for (const directory of directories) rmSync(directory, { recursive: true })
    },
  }
}

/** Returns one line for each message: its sender and channel, the position in the chain, and its outcome. */
export function describeRecords(records: readonly MessageRecord[]): readonly string[] {
  return records.map(({ message, state, flags }) => {
    const { sender, received_via: via, recipient_capabilities } = message
    const hop = recipient_capabilities.agent_chain?.hop
    return [sender.address, via, ...(hop === undefined ? [] : [`hop ${hop}`]), state, ...flags].join(' ')
  })
}

/** Waits until nothing is in progress: no turn, no delivery and no mail. */
export async function settle(gateways: Gateways, hosts: readonly string[]): Promise<void> {
  const picture = async () => {
    const counts = await Promise.all(hosts.map(host => gateways.gatewayOf(host).store.count()))
    const isBusy = counts.some(
      ({ messages, deliveries }) => messages.received + messages.working + deliveries.queued + deliveries.later > 0,
    )
    return JSON.stringify([isBusy || gateways.isMailUnderWay(), counts])
  }
  for (let samePolls = 0, previousCounts = ''; samePolls < 12; ) {
    await new Promise(resolve => setTimeout(resolve, 50))
    const now = await picture()
    samePolls = now === previousCounts && !now.startsWith('[true') ? samePolls + 1 : 0
    previousCounts = now
  }
}
