// Kills two gateways in turn under load.
import { eventually } from '../../setup/gateway.ts'
import { checkAnswers, startLoad } from '../load.ts'
import { openClusterPair } from './open-cluster-pair.ts'

/** Kills two gateways in turn, 15 times under at least 1,000 messages, and checks all answers. `firstKilled` is the index of the gateway that dies first. */
export async function killInTurn(firstKilled: 0 | 1): Promise<void> {
  const { pair, cluster } = await openClusterPair()
  const { gateways } = pair
  const load = startLoad(gateways)
  for (let kills = 0; kills < 15; kills += 1) {
    const killedGateway = gateways[(firstKilled + kills) % 2]
    await load.waitForAnswers(70)
    await killedGateway?.kill()
    await load.slowDuring(async () => killedGateway?.start())
  }
  await load.waitForAnswers(70)
  await eventually(async () => load.acknowledged.length >= 1_000, 100_000)
  await checkAnswers([load], gateways[1], cluster.url)
}
