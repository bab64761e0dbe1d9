import { openSimulation } from '@postern/simulation'
import type { ProtocolDelivery, ProtocolDriver, ProtocolSetup } from '@postern/testing'
import { protocolContract } from '@postern/testing'
import { a2aDescriptor } from '../../src/speaker.ts'
import { openA2aGateway } from '../setup/gateway.ts'
import { listenOnLoopback } from '../setup/listen.ts'

const url = 'https://agents.test/agents/echo/a2a'

protocolContract(a2aDescriptor, openDriver)

async function openDriver({ watchStore }: ProtocolSetup): Promise<ProtocolDriver> {
  const simulation = await openSimulation()
  const issuers = [simulation.a2a.issuerConfig, simulation.a2a.deadIssuerConfig].map(({ issuer, jwks }) => ({
    issuer,
    jwks,
    audience: 'https://agents.test/a2a',
  }))
  const gateway = await openA2aGateway({
    config: { auth: { issuers } },
    loopback: simulation.network.loopback,
    watchStore,
  })
  const secrets = new Set<string>()
  const server = await listenOnLoopback(gateway.channel.endpoint.routes, authorization => {
    if (authorization) secrets.add(authorization.replace('Bearer ', ''))
  })
  simulation.connectGateway({ origin: 'https://agents.test', port: server.port })

  const deliverOnce = async ({ fault, id: messageId, text = 'hello' }: ProtocolDelivery) => {
    const { status, error } = await simulation.a2a.deliver({ url, text, messageId, fault })
    return { accepted: status === 200 && !error, answer: status }
  }
  return {
    store: gateway.store,
    async deliver(delivery = {}) {
      if (delivery.fault !== 'replayed') return deliverOnce(delivery)
      const honest = { ...delivery, fault: undefined }
      await deliverOnce(honest)
      return deliverOnce(honest)
    },
    expected: { wrong_owner: 'signature_invalid' },
    // An error of the protocol is sent with the status 200 (JSON-RPC 2.0 §5).
    answers: { malformed: 200 },
    secrets: () => [...secrets],
    async close() {
      await gateway.close()
      await server.close()
      await simulation.close()
    },
  }
}
