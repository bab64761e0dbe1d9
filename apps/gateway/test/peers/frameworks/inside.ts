// Runs the exam with foreign frameworks.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ourHost, ports, pythonHost, pythonOrigin } from '../names.ts'
import { startOurGateway } from '../our-gateway.ts'
import type { PrivateNetwork } from '../private-network.ts'
import { openPrivateNetwork } from '../private-network.ts'
import { printLine, runSteps } from '../run-steps.ts'
import { openTlsFront } from '../tls-front.ts'
import { openClient } from './client.ts'
import type { FrameworkName, FrameworkSetup, FrameworkStep } from './framework-setup.ts'
import { frameworks } from './framework-setup.ts'
import { listFrameworkSteps, listOpenFrameworkSteps } from './steps.ts'
import { openExamIssuer } from './token-issuer.ts'

const [programs = '.', directory = '.'] = process.argv.slice(2)

const callerKey = 'key-of-the-frameworks'

/** Runs foreign frameworks as clients of our agents. `PEERS_LOGS=1` shows all logs even on success. */
async function runExam(): Promise<boolean> {
  const network = await openPrivateNetwork(directory)
  const front = await openTlsFront(network, { [ourHost]: ports.gateway, [pythonHost]: ports.python })
  const issuer = await openExamIssuer()
  const clients = await openClients(network)
  const credentials = {
    key: { 'X-API-Key': callerKey },
    token: { Authorization: `Bearer ${issuer.sign('tester')}` },
    wrong: { Authorization: 'Bearer wrong' },
    none: {},
  }
  const run = async (name: string, steps: readonly FrameworkStep[], anonymous: boolean) => {
    const folder = join(directory, name)
    mkdirSync(folder)
    const overrides = describeGateway(issuer.config, anonymous)
    const gateway = await startOurGateway(folder, { caPath: network.certPath, overrides })
    const failures = await runSteps(steps, { gateway, clients, credentials })
    await gateway.stop()
    if (failures > 0 || process.env.PEERS_LOGS) printLine(`\nour gateway says:\n${gateway.log()}`)
    return failures
  }
  const names = [...clients.keys()]
  const [closed, open] = [listFrameworkSteps(names), listOpenFrameworkSteps(names)]
  const failures = (await run('closed', closed, false)) + (await run('open', open, true))
  for (const [name, client] of clients) {
    client.stop()
    if (failures > 0 || process.env.PEERS_LOGS) printLine(`\n${name} says:\n${client.log()}`)
  }
  issuer.close()
  front.close()
  printLine(`${closed.length + open.length - failures} passed, ${failures} failed`)
  return failures === 0
}

/** Starts the frameworks whose environments exist. */
async function openClients({ certPath }: PrivateNetwork): Promise<FrameworkSetup['clients']> {
  const names = Object.keys(frameworks) as FrameworkName[]
  const open = async (name: FrameworkName) => {
    const { environment, script } = frameworks[name]
    return [name, await openClient(join(programs, environment, 'bin/python'), script, certPath)] as const
  }
  return new Map(
    await Promise.all(names.filter(name => existsSync(join(programs, frameworks[name].environment))).map(open)),
  )
}

function describeGateway(issuer: object, anonymous: boolean) {
  const moduleOf = (name: string) => fileURLToPath(new URL(`../../agents/calling/${name}.ts`, import.meta.url))
  const sha256 = createHash('sha256').update(callerKey).digest('hex')
  return {
    network: { allow_private: [pythonOrigin] },
    a2a: { auth: { anonymous, issuers: [issuer], api_keys: [{ name: 'frameworks', sha256 }] } },
    agents: {
      teller: { name: 'Teller', description: 'Says what it heard', use: moduleOf('teller') },
      travel: { name: 'Reisebüro 旅', description: 'Verkauft Fahrkarten für Züge', use: moduleOf('travel') },
    },
  }
}

process.exitCode = (await runExam()) ? 0 : 1
