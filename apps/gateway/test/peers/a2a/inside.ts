// Runs the exam with the official Python server and client of A2A.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { canConnect, waitUntil } from '../eventually.ts'
import { ourHost, ports, pythonHost, pythonOrigin } from '../names.ts'
import { startOurGateway } from '../our-gateway.ts'
import { openPrivateNetwork } from '../private-network.ts'
import { printLine, runSteps } from '../run-steps.ts'
import { openTlsFront } from '../tls-front.ts'
import { callerKey, createCall } from './python-client.ts'
import { a2aSteps } from './steps.ts'

const [python = 'python3', directory = '.'] = process.argv.slice(2)

/** Runs the steps with our gateway between the Python server and client. `PEERS_LOGS=1` shows all logs even on success. */
async function runExam(): Promise<boolean> {
  const network = await openPrivateNetwork(directory)
  const front = await openTlsFront(network, { [ourHost]: ports.gateway, [pythonHost]: ports.python })
  const weather = await startWeather()
  const gateway = await startOurGateway(directory, { caPath: network.certPath, overrides: describeGateway() })
  const failures = await runSteps(a2aSteps, { gateway, call: createCall(python, network.certPath) })
  weather.stop()
  await gateway.stop()
  front.close()
  if (failures > 0 || process.env.PEERS_LOGS) {
    printLine(`\nthe Python server says:\n${weather.log()}\nour gateway says:\n${gateway.log()}`)
  }
  printLine(`${a2aSteps.length - failures} passed, ${failures} failed`)
  return failures === 0
}

async function startWeather() {
  const program = fileURLToPath(new URL('./weather_agent.py', import.meta.url))
  const child = spawn(python, [program, String(ports.python), pythonOrigin])
  let log = ''
  for (const output of [child.stdout, child.stderr]) output.on('data', chunk => (log += String(chunk)))
  await waitUntil('the Python server listens', () => canConnect(ports.python), 60_000)
  return { log: () => log, stop: () => child.kill('SIGTERM') }
}

function describeGateway() {
  const travel = fileURLToPath(new URL('../../agents/calling/travel.ts', import.meta.url))
  const describeRemoteAgent = (path: string) => ({
    name: 'Weather',
    description: 'Tells it',
    use: 'a2a',
    card: pythonOrigin + path,
  })
  const sha256 = createHash('sha256').update(callerKey).digest('hex')
  return {
    network: { allow_private: [pythonOrigin] },
    a2a: { auth: { api_keys: [{ name: 'python', sha256 }] } },
    agents: {
      travel: { name: 'Reisebüro 旅', description: 'Verkauft Fahrkarten für Züge', use: travel },
      streams: describeRemoteAgent('/streams/card'),
      plain: describeRemoteAgent('/plain/card'),
    },
  }
}

process.exitCode = (await runExam()) ? 0 : 1
