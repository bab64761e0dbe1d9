// Generates a mixed load of all four channels.
import { devBudgets } from '@postern/email'
import type { SimMail } from '@postern/simulation'
import { openSimulation } from '@postern/simulation'
import { openAgentIssuer } from '../a2a/issuer.ts'
import { createCallMaker } from '../a2a/make-calls.ts'
import { openTraffic } from '../activitypub/traffic.ts'
import { benchIntakeSecret, formatIntake, html, letterText } from '../mail/case.ts'
import { findAgentModule, gatewayHost, unreachableLimits } from '../ours/open.ts'
import { formatRun, webAuth } from '../web/case.ts'
import { writeOddMail } from './odd-mails.ts'

const recipient = `silent@${gatewayHost}`
const runId = process.pid.toString(36)
let serial = 0
const webLimits = { threads_per_owner: 1e9, entries_per_owner: 1e9, bytes_per_owner: 1e15 }

/** Makes one request that was never made before. */
type Make = () => Promise<Uint8Array>

/** All senders of the mixed load, and their hosts. */
export interface Mix extends AsyncDisposable {
  /** The configuration of the gateway, except for its data folder. */
  readonly config: object
  /**
   * Makes a request for each channel in turn. Ten requests are four posts, three calls, two chat runs and one mail. Every second mail is
   * malformed.
   */
  readonly makeMixed: Make
  readonly makeOddMail: Make
}

export async function openMix(): Promise<Mix> {
  const traffic = await openTraffic({ agent: 'brief', senders: 200, keys: 'ed25519' })
  const [simulation, issuer] = [await openSimulation(), await openAgentIssuer()]
  const [makeCalls, makeStreams] = [
    createCallMaker(issuer, 'SendMessage'),
    createCallMaker(issuer, 'SendStreamingMessage'),
  ]
  const takePost = () => takeFirstRequest(traffic.prepare(1))
  const takeCall = () => takeFirstRequest(makeCalls(1, 'jwt'))
  const follow = () => takeFirstRequest(makeStreams(1, 'jwt'))
  const chat = writeRun
  const oddMail = async () => formatMail(writeOddMail(serial++, runId))
  const mail = alternate([() => writeLetter(simulation.mail), oddMail])
  const requestMakers = [takePost, takeCall, mail, chat, takePost, takeCall, chat, takePost, follow, takePost]
  return {
    config: {
      origin: `https://${gatewayHost}`,
      dev: true,
      listen: { port: 0 },
      agents: Object.fromEntries(['brief', 'silent'].map(name => [name, { use: findAgentModule(name) }])),
      default_agent: 'brief',
      limits: unreachableLimits,
      email: { intake: { secret: benchIntakeSecret }, budgets: devBudgets },
      a2a: { auth: { issuers: [issuer.issuerConfig] }, limits: { tasks_per_caller: 1e9, open_tasks_per_caller: 1e9 } },
      web: { enabled: true, auth: webAuth, limits: webLimits },
      network: { dns: simulation.network.dns, loopback: { ...traffic.fediverse.loopback, ...issuer.loopback } },
    },
    makeMixed: alternate(requestMakers),
    makeOddMail: oddMail,
    async [Symbol.asyncDispose]() {
      traffic.fediverse.close()
      await issuer.close()
      await simulation.close()
    },
  }
}

async function takeFirstRequest(requests: Promise<readonly Uint8Array[]>): Promise<Uint8Array> {
  return (await requests)[0] as Uint8Array
}

function alternate(makers: readonly Make[]): Make {
  let makerIndex = 0
  return () => (makers[makerIndex++ % makers.length] as Make)()
}

async function writeRun(): Promise<Uint8Array> {
  const id = `${runId}-${serial++}`
  return formatRun('/api/v1/agent/runs', id, letterText(id))
}

async function writeLetter(mail: SimMail): Promise<Uint8Array> {
  const id = `${runId}-${serial++}`
  const from = 'Alice <alice@alice.test>'
  const { octets } = await mail.compose({ from, to: recipient, subject: id, text: letterText(id), html: html(id) })
  return formatMail(octets, 'alice@alice.test')
}

function formatMail(octets: Uint8Array, from = 'bob@nodmarc.test'): Uint8Array {
  return formatIntake(octets, { from, to: recipient, ip: '127.0.0.1', helo: 'mx.nodmarc.test' })
}
