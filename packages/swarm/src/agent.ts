import { type Agent, type AgentContext, type FilePart, type NormalizedMessage, plainTextOf } from '@postern/core'
import { formatUuidOf } from '@postern/transcript'
import { openSwarmClient } from './client/client.ts'
import type { SwarmDeps, SwarmSpec } from './spec/swarm.ts'

type SwarmContext = Pick<AgentContext, 'signal' | 'state' | 'attachment'>

/**
 * A swarm behind one address: each conversation is a client of it, whichever of its agents speaks. The agent's own state of the thread
 * contains the client's random id, so nobody reaches another conversation by naming its thread.
 */
export function createSwarmAgent(
  spec: SwarmSpec,
  deps: SwarmDeps,
): Agent & { handle(message: NormalizedMessage, context: SwarmContext): Promise<string | undefined> } {
  return {
    async handle(message, context) {
      context.signal.throwIfAborted()
      const client = await openSwarmClient(spec, deps, await findClientId(context, deps))
      const cancel = () => void client.cancelOutput()
      context.signal.addEventListener('abort', cancel)
      try {
        const payload = { message_id: message.id, sender: message.sender.address }
        const answer = await client.complete(plainTextOf(message.parts), {
          payload,
          images: await loadImages(message, context),
        })
        context.signal.throwIfAborted()
        return answer === '' ? undefined : answer
      } finally {
        context.signal.removeEventListener('abort', cancel)
      }
    },
  }
}

async function findClientId({ state }: SwarmContext, { platform }: SwarmDeps): Promise<string> {
  const known = await state.get()
  if (typeof known === 'object' && known !== null && 'swarm_client' in known) return String(known.swarm_client)
  const swarm_client = formatUuidOf(platform)
  state.set({ swarm_client })
  return swarm_client
}

async function loadImages({ parts }: NormalizedMessage, context: SwarmContext): Promise<readonly string[]> {
  const images = parts.filter(
    (part): part is FilePart => part.kind === 'file' && part.mime?.startsWith('image/') === true,
  )
  const loaded = await Promise.all(images.map(image => context.attachment(image)))
  return loaded.map(({ bytes }) => Buffer.from(bytes).toString('base64'))
}
