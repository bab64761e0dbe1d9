// Reads the version of this program from its manifest.
import manifest from '../../package.json' with { type: 'json' }

export const softwareVersion: string = manifest.version
