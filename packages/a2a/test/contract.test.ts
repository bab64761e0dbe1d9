import { openSimWorld } from '@postern/sim'
import type { ProtocolDelivery, ProtocolDriver, ProtocolSetup } from '@postern/testing'
import { protocolContract } from '@postern/testing'
import { openTestHouse } from './house.ts'
import { listenOnLoopback } from './listen.ts'

const url = 'https://agents.test/agents/echo/a2a'

protocolContract('a2a', openDriver)

async function openDriver({ watchDesk }: ProtocolSetup): Promise<ProtocolDriver> {
  const sim = await openSimWorld()
  const issuers = [sim.a2a.issuerConfig, sim.a2a.deadIssuerConfig].map(({ issuer, jwks }) => ({
    issuer,
    jwks,
    audience: 'https://agents.test/a2a',
  }))
  const house = await openTestHouse({ config: { auth: { issuers } }, loopback: sim.network.loopback, watchDesk })
  const secrets = new Set<string>()
  const server = await listenOnLoopback(house.channel.routes, authorization => {
    if (authorization) secrets.add(authorization.replace('Bearer ', ''))
  })
  sim.connectGateway({ origin: 'https://agents.test', port: server.port })

  const deliverOnce = async ({ fault, id: messageId, text = 'hello' }: ProtocolDelivery) => {
    const { status, error } = await sim.a2a.deliver({ url, text, messageId, fault })
    return { accepted: status === 200 && !error, answer: status }
  }
  return {
    desk: house.desk,
    async deliver(delivery = {}) {
      if (delivery.fault !== 'replayed') return deliverOnce(delivery)
      const honest = { ...delivery, fault: undefined }
      await deliverOnce(honest)
      return deliverOnce(honest)
    },
    expected: { wrong_owner: 'signature_invalid' },
    // An error of the protocol is told under 200 (JSON-RPC 2.0 §5).
    answers: { malformed: 200 },
    secrets: () => [...secrets],
    async close() {
      await house.close()
      await server.close()
      await sim.close()
    },
  }
}
