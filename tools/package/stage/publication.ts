// Writes the members that the manifests of all published packages share.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { minimumNode } from '../../../apps/gateway/bin/launch.mjs'

interface RootManifest {
  readonly version: string
  readonly description: string
  readonly license: string
  readonly repository?: string | { readonly type?: string; readonly url?: string }
  readonly homepage?: string
  readonly bugs?: unknown
}

/**
 * Reads the shared members of our packages' manifests. If the project's manifest names a repository, npm attests that the packages were
 * built there.
 */
export function readPublication(root: string): object {
  const { version, description, license, repository, homepage, bugs } = readRootManifest(root)
  return {
    ...{ version, description, license, repository, homepage, bugs },
    engines: { node: `>=${minimumNode}` },
    publishConfig: { access: 'public', provenance: true },
  }
}

/** Returns the faults that prevent a publication, with a sentence for each. */
export function findReleaseFaults(manifest: Pick<RootManifest, 'repository'>): readonly string[] {
  if (findRepositoryUrl(manifest)) return []
  return [
    'Cannot release: package.json names no "repository", by which npm attests where a package was built. ' +
      'Set it to the address of the repository that publishes.',
  ]
}

export function findRepositoryUrl({ repository }: Pick<RootManifest, 'repository'>): string | undefined {
  return typeof repository === 'string' ? repository : repository?.url
}

export function readRootManifest(root: string): RootManifest {
  return JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as RootManifest
}
