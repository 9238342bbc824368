// The build makes one file of the styles that modules import.
declare module '*.css';
