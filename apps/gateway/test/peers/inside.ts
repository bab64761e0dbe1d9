import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ourHost, ports, snacHost } from './names.ts'
import { startOurGateway } from './our-gateway.ts'
import { openPrivateNetwork } from './private-network.ts'
import { openSnac } from './snac.ts'
import type { Stage, Step } from './stage.ts'
import { steps } from './steps.ts'
import { openTlsFront } from './tls-front.ts'

const [snacProgram = 'snac', directory = '.'] = process.argv.slice(2)
const say = (line: string) => process.stdout.write(`${line}\n`)

/** Runs every step, also after one that failed; tells how each went. `PEERS_LOGS=1` shows both servers' logs in any case. */
async function runExam(): Promise<boolean> {
  const network = await openPrivateNetwork(directory)
  const front = await openTlsFront(network, { [ourHost]: ports.gateway, [snacHost]: ports.snac })
  const gateway = await startOurGateway(directory, network.certPath)
  const snac = await openSnac(snacProgram, join(directory, 'snac-data'))
  const outcomes: Outcome[] = []
  for (const step of steps) outcomes.push(await runStep(step, { snac, gateway, seen: front.seen }))
  snac.close()
  await gateway.stop()
  front.close()
  writeFileSync(join(directory, 'seen.json'), JSON.stringify(front.seen))
  const failures = outcomes.filter(outcome => outcome === 'FAILED').length
  if (failures > 0 || process.env.PEERS_LOGS) say(`\nsnac says:\n${snac.log()}\nour gateway says:\n${gateway.log()}`)
  say(`${outcomes.length - failures} passed, ${failures} failed`)
  return failures === 0
}

type Outcome = 'ok' | 'FAILED'

async function runStep({ name, run }: Step, stage: Stage): Promise<Outcome> {
  const begun = performance.now()
  const problem = await run(stage).then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  )
  const outcome = problem === undefined ? 'ok' : 'FAILED'
  say(`${outcome.padEnd(8)} ${name} (${((performance.now() - begun) / 1_000).toFixed(1)} s)`)
  if (problem !== undefined) say(`         ${problem}`)
  return outcome
}

process.exitCode = (await runExam()) ? 0 : 1
