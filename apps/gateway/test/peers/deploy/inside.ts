// Runs the exam with the proxies of deploy/.
import { hash } from 'node:crypto'
import { openSimulation } from '@postern/simulation'
import { startOurGateway } from '../our-gateway.ts'
import { openPrivateNetwork } from '../private-network.ts'
import { printLine, runSteps } from '../run-steps.ts'
import { startCaddy, startNginx } from './proxies.ts'
import { intakeSecret, proxyCallerKey, proxySteps } from './steps.ts'

const [packageRoot = '', directory = '.'] = process.argv.slice(2)

/** Runs the same steps through each proxy, with one gateway behind them. `PEERS_LOGS=1` prints the logs even on success. */
async function runExam(): Promise<boolean> {
  const network = await openPrivateNetwork(directory)
  const { dns, close } = await openSimulation()
  const overrides = {
    network: { dns: [dns.address] },
    a2a: { auth: { api_keys: [{ name: 'caller', sha256: hash('sha256', proxyCallerKey) }] } },
    email: { intake: { secret: intakeSecret } },
  }
  const gateway = await startOurGateway(directory, { caPath: network.certPath, overrides })
  let failures = 0
  for (const startServer of [startCaddy, startNginx]) {
    const proxy = await startServer({ packageRoot, directory, network })
    printLine(`behind ${proxy.name}:`)
    const failedCount = await runSteps(proxySteps, { gateway })
    await proxy.stop()
    if (failedCount > 0 || process.env.PEERS_LOGS) printLine(`\n${proxy.name} says:\n${proxy.log()}`)
    printLine(`${proxySteps.length - failedCount} passed, ${failedCount} failed`)
    failures += failedCount
  }
  await gateway.stop()
  await close()
  if (failures > 0 || process.env.PEERS_LOGS) printLine(`our gateway says:\n${gateway.log()}`)
  return failures === 0
}

process.exitCode = (await runExam()) ? 0 : 1
