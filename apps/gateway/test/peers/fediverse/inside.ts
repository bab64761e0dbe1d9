// Runs the exam with a snac server.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ourHost, ports, snacHost } from '../names.ts'
import { startOurGateway } from '../our-gateway.ts'
import { openPrivateNetwork } from '../private-network.ts'
import { printLine, runSteps } from '../run-steps.ts'
import { openTlsFront } from '../tls-front.ts'
import { openSnac } from './snac.ts'
import { steps } from './steps.ts'

const [snacProgram = 'snac', directory = '.'] = process.argv.slice(2)

/** Runs the exam. `PEERS_LOGS=1` shows both servers' logs even on success. */
async function runExam(): Promise<boolean> {
  const network = await openPrivateNetwork(directory)
  const front = await openTlsFront(network, { [ourHost]: ports.gateway, [snacHost]: ports.snac })
  const gateway = await startOurGateway(directory, { caPath: network.certPath })
  const snac = await openSnac(snacProgram, join(directory, 'snac-data'))
  const failures = await runSteps(steps, { snac, gateway, capturedRequests: front.capturedRequests })
  snac.close()
  await gateway.stop()
  front.close()
  writeFileSync(join(directory, 'seen.json'), JSON.stringify(front.capturedRequests))
  if (failures > 0 || process.env.PEERS_LOGS)
    printLine(`\nsnac says:\n${snac.log()}\nour gateway says:\n${gateway.log()}`)
  printLine(`${steps.length - failures} passed, ${failures} failed`)
  return failures === 0
}

process.exitCode = (await runExam()) ? 0 : 1
