// Runs the exam with real mail servers.
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { SimDns } from '@postern/simulation'
import { openSimulation } from '@postern/simulation'
import { ourHost } from '../names.ts'
import { startOurGateway } from '../our-gateway.ts'
import { printLine, runSteps } from '../run-steps.ts'
import { openAlice } from './alice.ts'
import { openDkimpy } from './dkimpy.ts'
import { startExim } from './exim.ts'
import { openMailNetwork } from './mail-network.ts'
import type { MailServer } from './mail-server.ts'
import { mailHost, mailPorts, peopleHost, stagePath, users } from './names.ts'
import { openOpenDkim } from './opendkim.ts'
import { startOpenSmtpd } from './opensmtpd.ts'
import { startDeployedPostfix, startPostfix } from './postfix.ts'
import { filterSteps, mailSteps } from './steps.ts'

const [, directory = '.'] = process.argv.slice(2)
const packageRoot = join(stagePath, 'tree')

/** Runs the same steps with each server, each time with a new gateway. `PEERS_LOGS=1` shows all logs even on success. */
async function runMailExam(): Promise<boolean> {
  await openMailNetwork(directory)
  const { dns, close } = await openSimulation()
  let failures = 0
  for (const start of [startPostfix, startDeployedPostfix, startExim, startOpenSmtpd]) {
    rmSync(join(users.alice.home, 'Maildir'), { recursive: true, force: true })
    failures += await runWith(await start(packageRoot), dns)
  }
  await close()
  return failures === 0
}

async function runWith(server: MailServer, dns: SimDns): Promise<number> {
  printLine(`by way of ${server.name}:`)
  const folder = join(stagePath, `gateway-${server.name.replaceAll(' ', '-')}`)
  mkdirSync(folder)
  const gateway = await startOurGateway(folder, { overrides: describeMail(dns.address, server) })
  const dkimpy = openDkimpy(packageRoot, dns.address)
  const keys = await gateway.keys()
  const opendkim = openOpenDkim(packageRoot, keys)
  for (const key of keys) if (key.dns) dns.set(key.dns.name, { TXT: [key.dns.value] })
  dns.set(dkimpy.record.name, { TXT: [dkimpy.record.value] })
  for (const { name, value } of server.records ?? []) dns.set(name, { TXT: [value] })
  dns.set(`_dmarc.${peopleHost}`, { TXT: ['v=DMARC1; p=reject'] })
  dns.set(peopleHost, { A: ['127.0.0.1'], MX: [{ priority: 10, exchange: mailHost }] })
  dns.set(ourHost, { A: ['127.0.0.1'], MX: [{ priority: 10, exchange: mailHost }] })
  const steps = server.records ? [...mailSteps, ...filterSteps] : mailSteps
  const failures = await runSteps(steps, { gateway, dkimpy, opendkim, alice: openAlice(packageRoot, dkimpy) })
  await gateway.stop()
  await server.stop()
  if (failures > 0 || process.env.PEERS_LOGS) {
    printLine(`\n${server.name} says:\n${server.log()}\nour gateway says:\n${gateway.log()}`)
  }
  printLine(`${steps.length - failures} passed, ${failures} failed`)
  return failures
}

function describeMail(dnsAddress: string, { socketPath }: MailServer) {
  const address =
    socketPath === undefined ? { port: mailPorts.ours, trusted_peers: ['127.0.0.1'] } : { path: socketPath }
  return {
    network: { dns: [dnsAddress] },
    email: {
      listen: { ...address, protocol: 'lmtp' },
      submit: { host: '127.0.0.1', port: mailPorts.server },
    },
  }
}

process.exitCode = (await runMailExam()) ? 0 : 1
