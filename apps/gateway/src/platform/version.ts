import manifest from '../../package.json' with { type: 'json' }

/** As in the manifest of this program. */
export const softwareVersion: string = manifest.version
