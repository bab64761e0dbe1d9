// Runs the exam with a server made with Fedify.
import { fedifyHost, ourHost, ports } from '../names.ts'
import { startOurGateway } from '../our-gateway.ts'
import { openPrivateNetwork } from '../private-network.ts'
import { printLine, runSteps } from '../run-steps.ts'
import { openTlsFront } from '../tls-front.ts'
import { openFedify } from './server.ts'
import { fedifySteps } from './steps.ts'

const [, directory = '.'] = process.argv.slice(2)

/** Runs the steps with that server and our gateway. `PEERS_LOGS=1` shows the gateway's log even on success. */
async function runExam(): Promise<boolean> {
  const network = await openPrivateNetwork(directory)
  const front = await openTlsFront(network, { [ourHost]: ports.gateway, [fedifyHost]: ports.fedify })
  const gateway = await startOurGateway(directory, { caPath: network.certPath })
  const fedify = await openFedify(network.certPath)
  const failures = await runSteps(fedifySteps, { fedify, gateway, capturedRequests: front.capturedRequests })
  fedify.close()
  await gateway.stop()
  front.close()
  if (failures > 0 || process.env.PEERS_LOGS) printLine(`\nour gateway says:\n${gateway.log()}`)
  printLine(`${fedifySteps.length - failures} passed, ${failures} failed`)
  return failures === 0
}

process.exitCode = (await runExam()) ? 0 : 1
