// Reads and rotates the generations of the store's secrets, and follows rotations by other gateways.
import { createHmac, randomBytes } from 'node:crypto'
import { isoTime, parseJsonText } from '@postern/message'
import type { ListedSecret, LookupStore, NoticeStore, SecretPurpose, SecretStore } from '@postern/pipeline'
import { replacedSecretMs, secretPurposes } from '@postern/pipeline'

interface SecretRingDeps {
  readonly store: Pick<LookupStore, 'readOrCreateSecret' | 'hasSecret'> & Pick<NoticeStore, 'notify' | 'listen'>
  readonly now: () => number
  /** True if no other process rotates these secrets. */
  readonly isSoleWriter: boolean
}

/** The time between two checks for rotations by other gateways, ms. The notice of a rotation may be lost. */
const pollEveryMs = 5_000
const topic = 'secrets'

/** A generation of keys. The keys of all purposes are derived from one secret, so that a rotation writes one row and includes every purpose. */
interface Generation {
  readonly made_at: string
  /** True if this generation revokes all earlier generations. */
  readonly revokes: boolean
  readonly secret: string
}

const purposes = Object.keys(secretPurposes) as readonly SecretPurpose[]

export function createSecretRings(deps: SecretRingDeps): SecretStore & { close(): void } {
  const { store, now } = deps
  const generations = createGenerations(deps)
  const keys = createKeys(generations, now)
  let openingPromise: Promise<void> | undefined
  let stopPolling = () => {}

  async function openAll(): Promise<void> {
    await generations.readAll()
    if (!deps.isSoleWriter) stopPolling = pollGenerations(store, generations.readNew)
  }

  function open(): Promise<void> {
    openingPromise ??= openAll()
    openingPromise.catch(() => {
      openingPromise = undefined
    })
    return openingPromise
  }

  return {
    async openSecret(purpose) {
      await open()
      return {
        list: () => keys.listValidNumbers().map(number => keys.find(purpose, number)),
        listAll: () => keys.listNumbers().map(number => keys.find(purpose, number)),
      }
    },
    async listSecrets() {
      await open()
      await generations.readNew()
      return purposes.flatMap(purpose => keys.listValidNumbers().map(number => keys.describe(purpose, number)))
    },
    async rotateSecrets({ isRevoking = false } = {}) {
      await open()
      await generations.add(isRevoking)
      store.notify(topic, { kind: 'changed' })
    },
    close: () => stopPolling(),
  }
}

/** Reads new generations regularly and after each notice. While the store is unreachable, the secrets in memory stay valid. */
function pollGenerations({ listen }: Pick<NoticeStore, 'listen'>, readNew: () => Promise<void>): () => void {
  const readNewGenerations = () => void readNew().catch(() => undefined)
  const unlisten = listen(topic, readNewGenerations)
  const timer = setInterval(readNewGenerations, pollEveryMs).unref()
  return () => {
    clearInterval(timer)
    unlisten()
  }
}

interface Generations {
  /** All generations, the oldest first. */
  readonly generations: readonly Generation[]
  /** The secrets of an earlier release, which stored a secret for each purpose. They are the keys of the first generation. */
  readonly legacySecrets: ReadonlyMap<SecretPurpose, string>
  readAll(): Promise<void>
  readNew(): Promise<void>
  add(isRevoking: boolean): Promise<void>
}

function createGenerations({ store, now }: Pick<SecretRingDeps, 'store' | 'now'>): Generations {
  const generations: Generation[] = []
  const legacySecrets = new Map<SecretPurpose, string>()

  const createGeneration = (revokes: boolean): Generation => ({
    made_at: isoTime(now()),
    revokes,
    secret: randomBytes(32).toString('base64url'),
  })

  async function readGeneration(number: number, newGeneration: Generation): Promise<void> {
    generations[number - 1] = parseJsonText(
      await store.readOrCreateSecret(formatSecretName(number), async () => JSON.stringify(newGeneration)),
    ) as Generation
  }

  /** Reads new generations. Each call has its own counter, because several calls may run at the same time. */
  async function readNew(): Promise<void> {
    for (let number = generations.length + 1; await store.hasSecret(formatSecretName(number)); number += 1)
      await readGeneration(number, createGeneration(false))
  }

  return {
    generations,
    legacySecrets,
    readNew,
    async readAll() {
      for (const purpose of purposes)
        if (await store.hasSecret(purpose))
          legacySecrets.set(purpose, await store.readOrCreateSecret(purpose, async () => ''))
      await readGeneration(1, createGeneration(false))
      await readNew()
    },
    async add(isRevoking) {
      const newGeneration = createGeneration(isRevoking)
      // If another gateway rotates at the same time, this rotation becomes the next generation.
      while (!generations.some(({ secret }) => secret === newGeneration.secret)) {
        await readNew()
        await readGeneration(generations.length + 1, newGeneration)
      }
    },
  }
}

function createKeys(
  { generations, legacySecrets }: Pick<Generations, 'generations' | 'legacySecrets'>,
  now: () => number,
) {
  const listNumbers = () => generations.map((_, index) => index + 1).reverse()
  const hasLegacySecret = (purpose: SecretPurpose, number: number) => number === 1 && legacySecrets.has(purpose)
  return {
    /** Lists the numbers of all generations, the newest first. */
    listNumbers,
    /** Lists the numbers of the valid generations, the newest first. */
    listValidNumbers(): readonly number[] {
      const oldest = generations.findLastIndex(
        ({ made_at, revokes }, index) => index === 0 || revokes || Date.parse(made_at) + replacedSecretMs <= now(),
      )
      return listNumbers().filter(number => number > oldest)
    },
    find: (purpose: SecretPurpose, number: number): string =>
      (hasLegacySecret(purpose, number) ? legacySecrets.get(purpose) : undefined) ??
      deriveKey(generations[number - 1]?.secret ?? '', purpose),
    describe(purpose: SecretPurpose, generation: number): ListedSecret {
      const madeAt = Date.parse(generations[generation - 1]?.made_at ?? '')
      return { purpose, generation, ...(!hasLegacySecret(purpose, generation) && { madeAt }) }
    },
  }
}

function formatSecretName(generation: number): string {
  return `secrets-${generation}`
}

function deriveKey(secret: string, purpose: SecretPurpose): string {
  return createHmac('sha256', Buffer.from(secret, 'base64url'))
    .update(`postern secret v1 ${purpose}`)
    .digest('base64url')
}
