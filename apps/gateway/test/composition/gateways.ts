import { hash, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { MessageRecord } from '@postern/core'
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
  /** Says something to an agent by A2A, as somebody with an API key; the texts of the answer's parts. */
  say(host: string, agent: string, text: string, more?: object): Promise<readonly string[]>
  /** Everything an agent of a gateway was told or kept from, oldest first: who, state and flags. */
  records(host: string, agent: string): Promise<readonly MessageRecord[]>
  at(host: string): Gateway
  url(host: string): string
  /** Whether mail waits to be brought to a gateway. */
  isMailUnderWay(): boolean
  close(): Promise<void>
}

const apiKey = 'the-key-of-the-tests'
const many = 1_000_000
/** So that nothing but the guards of `limits.loop` stops anybody. */
const noMailBudgets = Object.fromEntries(
  [
    ...['correspondent_per_hour', 'thread_per_hour', 'thread_per_day', 'rapid_per_hour', 'repeats_per_hour'],
    ...['unverified_per_day', 'unverified_per_hour', 'reply_all_per_hour'],
  ].map(name => [name, many]),
)

/** Several gateways on loopback, each with a domain and keys of its own, in one simulation whose post office knows them all. */
export async function openGateways(plans: Readonly<Record<string, GatewayPlan>>): Promise<Gateways> {
  const simulation = await openSimulation()
  const hosts = Object.keys(plans)
  const ports = Object.fromEntries(await Promise.all(hosts.map(async host => [host, await findFreePort()] as const)))
  const directories: string[] = []
  const gateways = new Map<string, { readonly gateway: Gateway; readonly smtp: number }>()

  function describe(host: string, { agents, limits, email, activitypub, web }: GatewayPlan) {
    const data = mkdtempSync(join(tmpdir(), 'postern-composition-'))
    directories.push(data)
    const others = hosts.filter(other => other !== host)
    const trust = (other: string) => ({
      issuer: `https://${other}`,
      jwks: `https://${other}/.well-known/jwks.json`,
      audience: `https://${host}`,
    })
    // No gateway finds itself by the network.
    const loopback = Object.fromEntries(others.map(other => [other, ports[other]]))
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
      a2a: { auth: { issuers: others.map(trust), api_keys: [{ name: 'tester', sha256: hash('sha256', apiKey) }] } },
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

  let taken = 0
  /** Brings what gateways have sent to the gateway whose domain it is for. */
  async function bringMail(): Promise<void> {
    // Counted when it has been brought.
    for (; taken < simulation.mail.received.length; taken += 1) {
      const {
        octets,
        envelope,
        messageId = '',
      } = simulation.mail.received[taken] as Simulation['mail']['received'][number]
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

  const at = (host: string) => {
    const found = gateways.get(host)
    if (!found) throw new Error(`there is no gateway ${host}`)
    return found.gateway
  }
  return {
    simulation,
    at,
    isMailUnderWay: () => taken < simulation.mail.received.length,
    url: host => `http://127.0.0.1:${ports[host]}`,
    async say(host, agent, text, more = {}) {
      const message = { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...more }
      const answer = await fetch(`http://127.0.0.1:${ports[host]}/agents/${agent}/a2a`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'a2a-version': '1.0', 'x-api-key': apiKey },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }),
      })
      const { result } = (await answer.json()) as {
        readonly result: {
          readonly task: { readonly status: { readonly message?: { readonly parts: { text: string }[] } } }
        }
      }
      return (result.task.status.message?.parts ?? []).map(part => part.text)
    },
    async records(host, agent) {
      const { store } = at(host)
      const list = (await store.listMessages({ limit: 500 })).filter(summary => summary.agent === agent).toReversed()
      const found = await Promise.all(list.map(({ message }) => store.findMessage(`#${message}`)))
      return found.flatMap(record => (record && !record.flags.includes('post') ? [record] : []))
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

/** One line for each message: who spoke by what, where the chain stands, and what became of it. */
export function describeRecords(records: readonly MessageRecord[]): readonly string[] {
  return records.map(({ message, state, flags }) => {
    const { sender, received_via: via, recipient_capabilities } = message
    const hop = recipient_capabilities.agent_chain?.hop
    return [sender.address, via, ...(hop === undefined ? [] : [`hop ${hop}`]), state, ...flags].join(' ')
  })
}

/** Waits until nothing moves any more: no turn, no delivery, no mail on its way. */
export async function settle(gateways: Gateways, hosts: readonly string[]): Promise<void> {
  const picture = async () => {
    const counts = await Promise.all(hosts.map(host => gateways.at(host).store.count()))
    const isBusy = counts.some(
      ({ messages, deliveries }) => messages.received + messages.working + deliveries.queued + deliveries.later > 0,
    )
    return JSON.stringify([isBusy || gateways.isMailUnderWay(), counts])
  }
  for (let same = 0, before = ''; same < 12; ) {
    await new Promise(resolve => setTimeout(resolve, 50))
    const now = await picture()
    same = now === before && !now.startsWith('[true') ? same + 1 : 0
    before = now
  }
}
